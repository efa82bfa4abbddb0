"""Kinds of files by their paths, in the layouts of several languages."""

from fusesearch.code.kinds import file_kind, is_code, is_foreign, is_test


def test_tests_are_recognized_in_every_layout_and_names_that_only_sound_like_them_are_code():
    tests = [
        "module/src/test/java/p/FooTest.java", "core/src/test/java/p/Helper.java", "core/src/jvmTest/kotlin/Helpers.kt",
        "core/src/commonTest/kotlin/A.kt", "app/src/androidTest/java/A.kt", "App.Tests/Unit/Helper.cs", "src/App.UnitTests/A.cs",
        "src/UnitTests/Mapping/Source.cs", "StoreTests/Helper.swift", "src/App.Tests.Benchmarks/Data.cs", "lib/queue_spec.rb",
        "core/store_unittest.cc", "pkg/server_test.go", "web/box.spec.ts", "web/__tests__/box.js", "a/ServiceSpec.scala",
        "crate/tests/it.rs", "polls/tests.py", "polls/test.py", "test.py", "tests.py", "app/tests.js",
        "spec/models/user_spec.rb", "engine/spec/user_spec.rb", "spec/spec_helper.rb", "spec/support/login.rb",
        "spec/helpers/box.js", "engine/spec/rails_helper.rb", "src/test/kotlin/ConnectionSpec.kt",
        "core/src/jvmTest/kotlin/CacheSpec.kt", "App.Tests/KeySpec.cs", "src/cartSpec.js",
    ]  # fmt: skip
    assert [path for path in tests if not is_test(path) or file_kind(path) != "test"] == []
    code = [
        "module/src/main/java/p/Contest.java", "src/latest/a.kt", "src/testing/a.kt", "core/src/jvmMain/kotlin/Test.kt",
        "App.Latest/A.cs", "SpeedTest/Meter.swift", "LoadTester/A.cs", "lib/inspector.rb", "core/manifest.cc",
        "pkg/testutil/server.go", "web/respect.ts", "src/attest.rs", "server/spec/schema.rb", "specs/models.py",
        "pkg/spec/parser.py", "app/management/commands/test.py", "cmd/test.go", "django/test/client.py", "pkg/testing.py",
        "src/main.zig", "lib/parse.ml", "infra/main.tf", "build.sc", "api/v1/user.proto", "src/Main.fs",
        "okhttp/src/main/kotlin/ConnectionSpec.kt", "api/PodSpec.java", "src/KeySpec.cs",
    ]  # fmt: skip
    assert [path for path in code if not is_code(path)] == []
    folders = ["tests", "pkg/tests", "test", "pkg/test", "spec"]
    assert [folder for folder in folders if is_test(folder)] == folders[:3]


def test_documents_configuration_and_the_rest_are_told_apart():
    kinds = {
        "docs": ["docs/conf.py", "a.rst", "LICENSE", "changelog/1.bugfix", "specs/api.md"],
        "config": ["setup.cfg", "setup.py", ".github/x.yml", "Makefile", "requirements-dev.txt", ".gitignore", "spec/a.yaml"],
        "test": ["pkg/tests/data.json", "testing/a.py", "conftest.py"],
        "code": ["news/feed.py", "src/a.tsx"],
        "other": ["logo.png", ""],
    }
    assert {kind: [file_kind(path) for path in paths] for kind, paths in kinds.items()} == {
        kind: [kind] * len(paths) for kind, paths in kinds.items()
    }


def test_vendored_and_generated_files_are_told_by_their_path():
    foreign = [
        "src/vendor/a.c", "a/node_modules/b/c.js", "Third_Party/x.cc", "web/dist/app.js", "web/jquery.min.js", "api/user_pb2.py",
        "api/user_pb2_grpc.py", "api/user.pb.go", "lib/model.g.dart", "a/generated/b.ts", "pkg/zz_generated.go",
    ]  # fmt: skip
    assert all(map(is_foreign, foreign))
    own = ["src/a.c", "vendor.py", "dist.js", "src/generate.py", "build.rs", "admin.js", "src/vendors.py", "g.ts"]
    assert not any(map(is_foreign, own))
