"""The mean of a policy's weights over the last steps of its training (Polyak and Ruppert).

With a few hundred rollouts a step and a rate that does not fall, the weights of the last step are one draw of a noisy walk;
their mean over the walk is not. PyTorch's ``swa_utils`` keeps it. For training in one process.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def average_callback(model: Any, first: int, folder: Path) -> Any:
    """A callback of the trainer that gives ``model`` at the end the mean of its weights after each step beyond ``first``.

    The mean so far is written to ``folder`` beside every checkpoint of the trainer: a run that was killed goes on with it.
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
            if control.should_save:  # before the trainer writes its own part: where that is whole, this is
                folder.mkdir(parents=True, exist_ok=True)
                older = sorted(folder.glob("average-*.safetensors"), key=lambda path: path.stat().st_mtime)
                save_model(averaged, str(file_of(state.global_step)))
                for path in older[:-1]:
                    path.unlink()

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if int(averaged.n_averaged):
                model.load_state_dict(averaged.module.state_dict())

    return Average()
