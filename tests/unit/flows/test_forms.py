"""A deployment's form is its stage's params, each optional and each checked as in params.yaml."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect.exceptions import ParameterTypeError
from pydantic import ValidationError

from flows.experiments import experiment
from flows.forms import changes, form, forms_of, plain_of
from flows.operate import NO_TRY, STAGE_FLOWS
from tasks.core.config import Params, Section, parse_params
from tasks.pipeline.stages import STAGES

SECTIONS = {
    name: field.annotation
    for name, field in Params.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, Section)
}


@pytest.mark.parametrize("name", SECTIONS)
def test_an_empty_form_changes_nothing(name):
    assert changes({name: form(SECTIONS[name])()}) == {}


@given(st.integers(1, 50), st.floats(0.001, 1))
def test_what_is_filled_in_is_a_change_by_dotted_key(epochs, rate):
    filled = form(SECTIONS["sft"])(epochs=epochs, learning_rate=rate)
    assert changes({"sft": filled}) == {"sft.epochs": epochs, "sft.learning_rate": rate}


def test_a_section_within_a_section_is_a_form_too_and_a_mapping_is_one_value():
    filled = form(SECTIONS["mine"])(source="github", github={"repositories": ["a/b"], "criteria": {"min_stars": 5}})
    assert changes({"mine": filled}) == {
        "mine.source": "github",
        "mine.github.repositories": ["a/b"],
        "mine.github.criteria.min_stars": 5,
    }
    assert changes({"split": form(SECTIONS["split"])(aliases={"a/b": "c/d"})}) == {"split.aliases": {"a/b": "c/d"}}


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"epochs": "many"}, {"epoch": 1}, {"optimizer": "sgd"}])
def test_what_params_would_refuse_the_form_refuses(wrong):
    with pytest.raises(ValidationError):
        form(SECTIONS["sft"])(**wrong)
    with pytest.raises(Exception, match="params: "):
        parse_params({"sft": wrong})


@pytest.mark.parametrize("stage", sorted(STAGES.keys() - NO_TRY))
def test_every_param_that_a_stage_reads_is_in_its_form(stage):
    names = STAGES[stage].params
    forms, plain = forms_of(names), plain_of(names)
    read = {".".join(key.split(".")[:2]) for key in STAGES[stage].values(Params())}
    assert {*plain, *(f"{name}.{field}" for name, made in forms.items() for field in made.model_fields)} >= read
    assert STAGE_FLOWS[stage].parameters.properties.keys() == {"again", *forms, *plain}
    assert not STAGE_FLOWS[stage].parameters.required


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_has_a_form_if_it_can_run_beside_the_pipeline(stage):
    assert (STAGE_FLOWS[stage].parameters.properties.keys() == {"again"}) == (stage in NO_TRY)


def test_another_seed_is_a_change_too():
    assert changes({"seed": 3, "sft": form(SECTIONS["sft"])(), "data_seed": None}) == {"seed": 3}
    with pytest.raises(ParameterTypeError, match="seed"):
        STAGE_FLOWS["sft"].validate_parameters({"seed": -1})


@pytest.mark.parametrize("wrong", [{"jobs": -1}, {"jobs": 0}, {"seeds": ["x"]}])
def test_an_experiment_is_refused_what_it_cannot_run_with(wrong):
    with pytest.raises(ParameterTypeError):
        experiment.validate_parameters({"names": ["filtering"], **wrong})


def test_every_stage_of_dvc_is_a_deployment_in_its_order():
    assert list(STAGES) == list(STAGE_FLOWS)


def test_of_a_section_of_which_a_stage_reads_one_field_the_form_has_only_that():
    assert list(forms_of(("select", "agent.history_scope"))["agent"].model_fields) == ["history_scope"]
    assert list(forms_of(("agent.history_scope", "agent"))["agent"].model_fields) == list(SECTIONS["agent"].model_fields)
