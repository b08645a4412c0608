//! What edits do to tests.

use posse_protocol::{TestFileDelta, is_test_path};
use posse_report::test_file_delta;

#[test]
fn test_files_are_known_by_their_paths() {
    let tests = [
        "tests/a.rs",
        "src/foo_test.go",
        "test_a.py",
        "a.test.ts",
        "a.spec.js",
        "spec/a_spec.rb",
        "src/FooTest.java",
        "src/TestFoo.java",
        "conftest.py",
        "app/__tests__/x.js",
        "test.sh",
        "run-tests.sh",
        "pkg/FooTests.cs",
        "t/a.t",
        "check.sh",
        "scripts/check",
        "ci/runtests",
        "runTests.sh",
        "checks.bash",
    ];
    let others = [
        "src/main.rs",
        "latest.py",
        "contest/a.py",
        "attest.go",
        "src/testimony.rs",
        "README.md",
        "src/check.rs",
        "src/check/mod.rs",
        "checks.py",
        "recheck.sh",
        "checkout.sh",
    ];
    for path in tests {
        assert!(is_test_path(path), "{path}");
    }
    for path in others {
        assert!(!is_test_path(path), "{path}");
    }
}

#[test]
fn what_tests_lose_is_counted_in_many_languages() {
    let rust = "#[test]\nfn a() {\n    assert_eq!(1, f());\n    assert!(g());\n}\n";
    let python = "def test_a():\n    assert f() == 1\n\ndef test_b():\n    assert g()\n";
    let js = "it('a', () => {\n  expect(f()).toBe(1);\n});\n";
    let go = "func TestA(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n";
    let java = "@Test\nvoid a() {\n  assertEquals(1, f());\n}\n";
    // Path, before, after; tests, assertions, skips.
    let cases = [
        ("tests/a.rs", rust, "#[test]\nfn a() {\n    assert!(g());\n}\n", (0, -1, 0)),
        (
            "tests/a.rs",
            rust,
            "#[test]\n#[ignore]\nfn a() {\n    assert_eq!(1, f());\n    assert!(g());\n}\n",
            (0, 0, 1),
        ),
        ("tests/a.rs", rust, "// #[test]\n// fn a() {}\n", (-1, -2, 0)),
        ("tests/a.rs", rust, "/*\n#[test]\nfn a() { assert!(g()); }\n*/\n", (-1, -2, 0)),
        (
            "test_a.py",
            python,
            "def test_a():\n    assert True\n\ndef test_b():\n    assert g()\n",
            (0, -1, 0),
        ),
        ("test_a.py", python, "def test_a():\n    assert f() == 1\n", (-1, -1, 0)),
        (
            "test_a.py",
            python,
            "@pytest.mark.skip\ndef test_a():\n    assert f() == 1\n\ndef test_b():\n    assert g()\n",
            (0, 0, 1),
        ),
        ("a.test.js", js, "it.skip('a', () => {\n  expect(f()).toBe(1);\n});\n", (0, 0, 1)),
        ("a.test.js", js, "xit('a', () => {\n  expect(true).toBe(true);\n});\n", (0, -1, 1)),
        ("a_test.go", go, "func TestA(t *testing.T) {\n\tt.Skip(\"later\")\n}\n", (0, -1, 1)),
        ("src/ATest.java", java, "@Disabled\n@Test\nvoid a() {\n  assertEquals(1, f());\n}\n", (0, 0, 1)),
        (
            "test_a.py",
            python,
            "def test_a():\n    assert f() == 2\n\ndef test_b():\n    assert g()\n",
            (0, 0, 0),
        ),
        // Tests beside the code.
        ("src/lib.rs", rust, "fn f() {}\n", (-1, -2, 0)),
    ];
    for (path, before, after, (tests, assertions, skips)) in cases {
        let path_of = path.to_owned();
        let wanted =
            TestFileDelta { path: path_of, created: false, deleted: false, tests, assertions, skips };
        assert_eq!(test_file_delta(path, Some(before), Some(after)), Some(wanted), "{path}: {after}");
    }
    let gone = test_file_delta("tests/a.rs", Some(rust), None).unwrap();
    assert_eq!((gone.deleted, gone.tests, gone.assertions), (true, -1, -2));
    assert!(test_file_delta("tests/b.rs", None, Some(rust)).unwrap().created);
}

#[test]
fn other_edits_are_none_of_it() {
    let inline = "fn f() {}\n#[test]\nfn a() { assert!(g()); }\n";
    let nothing = [
        ("src/lib.rs", Some("fn f() {}"), Some("fn g() {}")),
        ("src/lib.rs", Some(inline), Some("fn f2() {}\n#[test]\nfn a() { assert!(g()); }\n")),
        ("package.json", Some(r#"{"version": "1"}"#), Some(r#"{"version": "2"}"#)),
        ("src/check.py", Some("assert f()\n"), Some("f()\n")),
    ];
    for (path, before, after) in nothing {
        assert_eq!(test_file_delta(path, before, after), None, "{path}");
    }
    // What says what runs as a test belongs to the tests.
    let script = |test: &str| format!("{{\"scripts\": {{\n\"test\": \"{test}\"\n}}}}");
    assert!(test_file_delta("package.json", Some(&script("jest")), Some(&script("true"))).is_some());
    let makefile = |recipe: &str| format!("all:\n\tcc x.c\ntest:\n\t{recipe}\n");
    for (path, before, after) in [
        ("package.json", None, script("true")),
        ("Makefile", Some(makefile("pytest")), makefile("true")),
        ("Makefile", None, makefile("true")),
        ("Rakefile", None, "task :test do\nend\n".to_owned()),
        (".cargo/config.toml", None, "[target.x]\nrunner = \"true\"\n".to_owned()),
        (".npmrc", None, "script-shell=/bin/true\n".to_owned()),
        (
            "jest.config.js",
            Some("module.exports = {};\n".to_owned()),
            "module.exports = {a: 1};\n".to_owned(),
        ),
        ("pytest.ini", None, "[pytest]\naddopts = --co\n".to_owned()),
    ] {
        let delta =
            test_file_delta(path, before.as_deref(), Some(&after)).unwrap_or_else(|| panic!("{path}"));
        assert_eq!((delta.created, delta.tests, delta.assertions), (before.is_none(), 0, 0), "{path}");
    }
    assert_eq!(
        test_file_delta(
            "Makefile",
            Some(&makefile("pytest")),
            Some(&makefile("pytest").replace("cc", "gcc"))
        ),
        None
    );
}
