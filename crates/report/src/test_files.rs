//! What an edit does to tests: how many tests, assertions and marks that skip one a file has before and after. By lines
//! alone, in any language; a test that is commented out is gone.

use posse_protocol::{TestFileDelta, is_test_path};

/// How many tests, assertions and skips there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Marks {
    tests: i32,
    assertions: i32,
    skips: i32,
}

/// Files that say what runs as a test, and how. Only lines about that count in them.
const SETTINGS: &str = "\
    package.json Makefile makefile GNUmakefile justfile Justfile .justfile tox.ini noxfile.py pytest.ini .pytest.ini setup.cfg pyproject.toml \
    Taskfile.yml Taskfile.yaml tasks.py composer.json phpunit.xml phpunit.xml.dist build.gradle build.gradle.kts pom.xml build.xml Rakefile \
    Cargo.toml nextest.toml deno.json deno.jsonc bunfig.toml .rspec .npmrc turbo.json nx.json project.json lerna.json CMakeLists.txt meson.build \
    build.ninja mix.exs build.sbt project.clj Package.swift dub.json .mocharc.json .mocharc.js .mocharc.yml karma.conf.js build.sc";
/// The same by how their names begin.
const SETTINGS_FROM: &[&str] = &[
    "jest.config.",
    "vitest.config.",
    "playwright.config.",
    "cypress.config.",
    "wdio.conf.",
    "ava.config.",
    "vitest.workspace.",
];
/// What a line that is about tests holds.
const ABOUT: &[&str] = &[
    "test",
    "spec",
    "runner",
    "script-shell",
    "jest",
    "mocha",
    "harness",
    "addopts",
    "phpunit",
    "prove",
    "check",
    "behave",
    "cucumber",
];

/// Whether a file says what runs as a test among other things.
pub fn is_test_setting(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    SETTINGS.split_ascii_whitespace().any(|one| one == name)
        || SETTINGS_FROM.iter().any(|begin| name.starts_with(begin))
        || path.ends_with(".cargo/config.toml")
        || path.ends_with(".cargo/config")
}

/// What a change does to tests; none if it has nothing to do with them. `None` is a file that is not there.
pub fn test_file_delta(path: &str, before: Option<&str>, after: Option<&str>) -> Option<TestFileDelta> {
    let (old, new) = (marks(before.unwrap_or_default()), marks(after.unwrap_or_default()));
    let delta = TestFileDelta {
        path: path.to_owned(),
        created: before.is_none(),
        deleted: after.is_none(),
        tests: new.tests - old.tests,
        assertions: new.assertions - old.assertions,
        skips: new.skips - old.skips,
    };
    if is_test_path(path) {
        return Some(delta);
    } else if is_test_setting(path) {
        // Those of a runner alone are about tests in every line.
        let all = SETTINGS_FROM
            .iter()
            .any(|begin| path.rsplit('/').next().is_some_and(|name| name.starts_with(begin)));
        let is_about = |line: &&str| all || ABOUT.iter().any(|word| line.to_ascii_lowercase().contains(word));
        let about = |text: Option<&str>| {
            let lines = text.unwrap_or_default().lines();
            lines.filter(is_about).map(|line| line.trim().to_owned()).collect::<Vec<_>>()
        };
        let plain = TestFileDelta { tests: 0, assertions: 0, skips: 0, ..delta };
        return (about(before) != about(after)).then_some(plain);
    }
    // Tests beside the code they test.
    let holds_tests = |text: Option<&str>| {
        let sure =
            ["#[test]", "#[tokio::test", "#[cfg(test)]", "def test_", "func Test", "@Test", "it(\"", "it('"];
        text.is_some_and(|text| sure.iter().any(|mark| text.contains(mark)))
    };
    let any = delta.tests != 0 || delta.skips != 0 || delta.assertions != 0;
    (any && (holds_tests(before) || holds_tests(after))).then_some(delta)
}

/// Whether a file is there for tests alone, or says what runs as one, so that a change of that is worth a word.
pub fn is_for_tests(path: &str) -> bool {
    is_test_path(path) || is_test_setting(path)
}

fn marks(text: &str) -> Marks {
    let mut marks = Marks::default();
    let mut comment = false;
    for line in text.lines().map(str::trim) {
        let opens = line.starts_with("/*");
        if comment || opens {
            comment = !line.contains("*/");
            continue;
        }
        let is_comment = ["//", "--", ";", "<!--", "rem "].iter().any(|mark| line.starts_with(mark))
            || (line.starts_with('#') && !line.starts_with("#["));
        if is_comment || line.is_empty() {
            continue;
        }
        marks.tests += i32::from(begins_test(line));
        marks.skips += i32::from(skips(line));
        marks.assertions += i32::from(asserts(line));
    }
    marks
}

fn begins_test(line: &str) -> bool {
    const BEGINNINGS: &[&str] = &[
        "#[test]",
        "#[tokio::test",
        "#[async_std::test",
        "#[rstest",
        "#[test_case",
        "#[wasm_bindgen_test",
        "def test_",
        "async def test_",
        "it(",
        "it.each",
        "it.only(",
        "it.skip(",
        "test(",
        "test.each",
        "test.only(",
        "test.skip(",
        "test.todo(",
        "xit(",
        "xtest(",
        "fit(",
        "specify(",
        "scenario(",
        "func Test",
        "func test",
        "@Test",
        "@ParameterizedTest",
        "@RepeatedTest",
        "[Test]",
        "[TestCase",
        "[Fact",
        "[Theory",
        "[TestMethod]",
        "public function test",
        "function test",
        "it \"",
        "it '",
        "test \"",
        "test '",
        "@test \"",
        "TEST(",
        "TEST_F(",
        "TEST_P(",
        "TEST_CASE(",
        "SCENARIO(",
        "Deno.test(",
        "Test(",
        "property \"",
        "testWidgets(",
    ];
    BEGINNINGS.iter().any(|beginning| line.starts_with(beginning))
}

fn skips(line: &str) -> bool {
    const MARKS: &[&str] = &[
        "#[ignore",
        "@pytest.mark.skip",
        "@pytest.mark.xfail",
        "pytest.skip(",
        "pytest.xfail(",
        "unittest.skip",
        "unittest.expectedFailure",
        ".skipTest(",
        "raise SkipTest",
        "t.Skip(",
        "t.Skipf(",
        "t.SkipNow(",
        "it.skip(",
        "test.skip(",
        "describe.skip(",
        "suite.skip(",
        "context.skip(",
        "it.only(",
        "test.only(",
        "describe.only(",
        "test.todo(",
        "it.todo(",
        "@Disabled",
        "@Ignore",
        "[Ignore",
        "(Skip =",
        "(Skip=",
        "markTestSkipped",
        "markTestIncomplete",
        "XCTSkip",
        "GTEST_SKIP",
        "DISABLED_",
        "@tag :skip",
        "skip: true",
        "Assume.",
    ];
    const BEGINNINGS: &[&str] = &[
        "xit(",
        "xit ",
        "xtest(",
        "xdescribe(",
        "xdescribe ",
        "fit(",
        "fdescribe(",
        "skip ",
        "skip(",
        "pending ",
    ];
    MARKS.iter().any(|mark| line.contains(mark)) || BEGINNINGS.iter().any(|mark| line.starts_with(mark))
}

fn asserts(line: &str) -> bool {
    const MARKS: &[&str] = &[
        "assert",
        "Assert",
        "ASSERT_",
        "EXPECT_",
        "expect(",
        "expect!(",
        ".should",
        "should.",
        "must_equal",
        "require.",
        "t.Error",
        "t.Fatal",
        "REQUIRE(",
        "CHECK(",
        "verify(",
        "insta::",
    ];
    /// They hold whatever happens.
    const EMPTY: &[&str] = &[
        "assert true",
        "assert!(true)",
        "asserttrue(true)",
        "expect(true)",
        "assert 1 == 1",
        "assert(true)",
        "assert.ok(true)",
        "assert.true(true)",
        "assert_true(true)",
        "assert!(1 == 1)",
        "assertequal(1, 1)",
    ];
    let imports =
        ["import ", "from ", "use ", "const ", "require("].iter().any(|begin| line.starts_with(begin));
    let lower = line.to_ascii_lowercase();
    !imports
        && MARKS.iter().any(|mark| line.contains(mark))
        && !EMPTY.iter().any(|empty| lower.contains(empty))
}
