"""The mean of a policy's weights over the last steps of its training (Polyak and Ruppert).

With a few hundred rollouts per step and a constant learning rate, the weights of the last step are one point of a random walk;
their mean is less noisy. Uses PyTorch's ``swa_utils``. Only for training in one process.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def average_callback(model: Any, first: int, folder: Path) -> Any:
    """A trainer callback that replaces the final weights of ``model`` by their mean over the steps after ``first``.

    Writes the mean so far to ``folder`` with every checkpoint of the trainer, so that a killed run can resume. Within the
    callback's ``applied()``, ``model`` has the mean so far, if there is one.
    """
    from safetensors.torch import load_model, save_model
    from torch.optim.swa_utils import AveragedModel
    from transformers import TrainerCallback

    averaged = AveragedModel(model)

    def file_of(step: int) -> Path:
        return folder / f"average-{step}.safetensors"

    class Average(TrainerCallback):
        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step > first:
                load_model(averaged, file_of(state.global_step))

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step <= first:
                return
            averaged.update_parameters(model)
            if control.should_save:  # runs before the trainer saves, so a complete checkpoint always has its mean
                folder.mkdir(parents=True, exist_ok=True)
                older = sorted(folder.glob("average-*.safetensors"), key=lambda path: path.stat().st_mtime)
                save_model(averaged, str(file_of(state.global_step)))
                for path in older[:-1]:
                    path.unlink()

        @contextmanager
        def applied(self) -> Iterator[None]:
            own = {name: value.clone() for name, value in model.state_dict().items()}
            if int(averaged.n_averaged):
                model.load_state_dict(averaged.module.state_dict())
            try:
                yield
            finally:
                model.load_state_dict(own)

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if int(averaged.n_averaged):
                model.load_state_dict(averaged.module.state_dict())

    return Average()
