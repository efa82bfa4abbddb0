"""Downstream repair without a language model, and exact (the experiments of ToolTrain table 3 and FuseSearch table 6).

A synthetic fault is one small change of a known kind, and an example shows it. The repairer tries the inverse changes of
all kinds (:mod:`~experiments.repair.inverses`) at the functions that a localizer names, in the order of
:mod:`~experiments.repair.orders`, each in the sandbox (:mod:`~experiments.repair.trials`), and submits the first
that passes what it can see. Hidden examples decide whether the submission resolves the fault.
"""
