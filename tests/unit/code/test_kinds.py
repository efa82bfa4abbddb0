"""Kinds of files by their paths, in the layouts of several languages."""

import pytest

from tasks.code.kinds import file_kind, is_code


@pytest.mark.parametrize(
    "path",
    [
        "module/src/test/java/p/FooTest.java", "core/src/test/java/p/Helper.java", "core/src/jvmTest/kotlin/Helpers.kt",
        "core/src/commonTest/kotlin/A.kt", "app/src/androidTest/java/A.kt", "App.Tests/Unit/Helper.cs", "src/App.UnitTests/A.cs",
        "lib/queue_spec.rb", "core/store_unittest.cc", "pkg/server_test.go", "web/box.spec.ts", "web/__tests__/box.js",
        "a/ServiceSpec.scala", "crate/tests/it.rs",
    ],
)  # fmt: skip
def test_tests_are_told_in_every_layout(path):
    assert file_kind(path) == "test"


@pytest.mark.parametrize(
    "path",
    [
        "module/src/main/java/p/Contest.java", "src/latest/a.kt", "src/testing/a.kt", "core/src/jvmMain/kotlin/Test.kt",
        "App.Latest/A.cs",
        "lib/inspector.rb", "core/manifest.cc", "pkg/testutil/server.go", "web/respect.ts", "src/attest.rs",
    ],
)  # fmt: skip
def test_names_that_only_sound_like_tests_are_code(path):
    assert is_code(path)
