"""``ask`` without a model against the running package."""

import pytest

from tests.trials.asking.__main__ import main

pytestmark = [pytest.mark.rare, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("package", ["click", "requests", "jinja2"])
def test_no_answer_about_an_installed_package_is_wrong(package):
    assert main([package, "--each=10"]) == 0
