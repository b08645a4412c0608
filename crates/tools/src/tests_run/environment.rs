//! What variables do to a test runner. Most are the project's own and do nothing; some have another program run in its
//! place, and some change what it does.

use super::expand::is_unknown;
use super::looked::joined;
use super::shell::ShellState;

/// Other programs, or other code in the same one: what is printed may be anybody's.
const REPLACES: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "SHELL",
    "SHELLOPTS",
    "BASHOPTS",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "NODE_PATH",
    "RUBYOPT",
    "RUBYLIB",
    "PERL5OPT",
    "PERL5LIB",
    "PERLLIB",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "RUSTC",
    "RUSTDOC",
    "CARGO",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "CLASSPATH",
    "GOROOT",
    "HOME",
    "GEM_PATH",
    "GEM_HOME",
    "BUNDLE_GEMFILE",
    "MAKEFILES",
    "LUA_PATH",
    "LUA_CPATH",
    "PROMPT_COMMAND",
    "IFS",
    "CDPATH",
    "POSIXLY_CORRECT",
];
/// The same by how they begin.
const REPLACES_FROM: &[&str] =
    &["LD_", "DYLD_", "BASH_FUNC", "npm_config_script", "NPM_CONFIG_SCRIPT", "npm_config_node"];
/// The same by how they end.
const REPLACES_TO: &[&str] = &["_RUNNER", "_WRAPPER", "_LINKER", "_PRELOAD"];

/// They belong to a tool of the tables, and may change what it does.
const OF_TOOLS: &[&str] = &[
    "CARGO_",
    "RUST",
    "NEXTEST_",
    "GO",
    "CGO_",
    "PYTHON",
    "PYTEST_",
    "TOX",
    "NOX",
    "COVERAGE_",
    "NODE_",
    "npm_",
    "NPM_",
    "YARN_",
    "PNPM_",
    "JEST_",
    "VITEST_",
    "MOCHA_",
    "MAVEN_",
    "MVN",
    "GRADLE_",
    "JAVA_",
    "ORG_GRADLE",
    "RUBY",
    "RSPEC_",
    "BUNDLE_",
    "GEM_",
    "PERL",
    "PROVE_",
    "HARNESS_",
    "PHP",
    "COMPOSER_",
    "DOTNET_",
    "MSBUILD",
    "VSTEST",
    "MAKE",
    "GNUMAKE",
    "CTEST_",
    "CMAKE_",
    "GTEST_",
    "MESON_",
    "BAZEL",
    "MIX_",
    "ELIXIR_",
    "ERL_",
    "DENO_",
    "BUN_",
    "BATS_",
    "LLVM_",
    "TEST_",
];
const OF_TOOLS_TO: &[&str] = &["OPTS", "OPTIONS", "FLAGS", "ARGS", "PATH"];

/// Those of tools that change nothing about what is tested and how it ends.
const HARMLESS: &[&str] = &[
    "RUST_BACKTRACE",
    "RUST_LOG",
    "RUST_TEST_THREADS",
    "RUST_MIN_STACK",
    "RUST_LIB_BACKTRACE",
    "RUSTUP_TOOLCHAIN",
    "CARGO_TARGET_DIR",
    "CARGO_TERM_COLOR",
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "CARGO_BUILD_JOBS",
    "CARGO_HOME",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "PYTHONHASHSEED",
    "PYTHONWARNINGS",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "PYTHONFAULTHANDLER",
    "PYTHONASYNCIODEBUG",
    "NODE_ENV",
    "NODE_NO_WARNINGS",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "GOCACHE",
    "GOPROXY",
    "GOMAXPROCS",
    "GOPATH",
    "GOMODCACHE",
    "GOSUMDB",
    "GOTMPDIR",
    "CGO_ENABLED",
    "MIX_ENV",
    "CTEST_OUTPUT_ON_FAILURE",
    "CTEST_PARALLEL_LEVEL",
    "DOTNET_NOLOGO",
    "DOTNET_CLI_TELEMETRY_OPTOUT",
    "GRADLE_USER_HOME",
    "JAVA_HOME",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
    "COVERAGE_FILE",
    "TEST_DATABASE_URL",
    "TEST_ENV",
    "TEST_DB",
];

/// Takes in what is assigned, for all that follows.
pub(super) fn assigned(name: &str, value: Option<&str>, shell: &mut ShellState<'_>) {
    let is = |names: &[&str]| names.contains(&name);
    let begins = |names: &[&str]| names.iter().any(|begin| name.starts_with(begin));
    let ends = |names: &[&str]| names.iter().any(|end| name.ends_with(end));
    let by = || format!("{name}=…");
    match (name, value) {
        ("PATH", Some(value)) => path(value, shell),
        ("PYTHONPATH", Some(value)) => python_path(value, shell),
        ("NODE_OPTIONS", Some(value)) if !loads(value) => doubt(shell, by()),
        ("PATH" | "PYTHONPATH" | "NODE_OPTIONS", _) => distrust(shell, by()),
        _ if is(REPLACES) || begins(REPLACES_FROM) || ends(REPLACES_TO) => distrust(shell, by()),
        _ if is(HARMLESS) => {}
        _ if begins(OF_TOOLS) || ends(OF_TOOLS_TO) => doubt(shell, by()),
        _ => {}
    }
}

fn distrust(shell: &mut ShellState<'_>, by: String) {
    shell.distrusted = shell.distrusted.take().or(Some(by));
}

fn doubt(shell: &mut ShellState<'_>, by: String) {
    shell.doubted = shell.doubted.take().or(Some(by));
}

/// Whether options of node bring in other code.
fn loads(options: &str) -> bool {
    ["-r", "require", "import", "loader"].iter().any(|word| options.contains(word))
}

/// Where programs are looked for. Folders of the system are as good as the usual ones; in those of the workspace it is
/// looked what is there.
fn path(value: &str, shell: &mut ShellState<'_>) {
    let mut folders = Vec::new();
    for entry in value.split(':') {
        if matches!(entry, "$PATH" | "${PATH}") || is_of_system(entry) {
            continue;
        }
        match shell
            .folder
            .as_deref()
            .filter(|_| !is_unknown(entry) && !entry.contains('$') && !is_loose(entry))
        {
            Some(folder) => folders.push(joined(folder, entry)),
            None => return distrust(shell, "PATH=…".to_owned()),
        }
    }
    folders.append(&mut shell.path);
    shell.path = folders;
}

/// A place that only installing something writes to.
fn is_of_system(entry: &str) -> bool {
    let fixed = ["/usr/", "/bin", "/sbin", "/opt/", "/nix/", "/snap/"];
    let of_home = ["$HOME/.", "~/.", "$HOME/go/bin", "~/go/bin"];
    fixed.iter().chain(&of_home).any(|begin| entry.starts_with(begin)) && !entry.contains("..")
}

/// A place that anybody writes to.
pub(super) fn is_loose(path: &str) -> bool {
    ["/tmp", "/var/tmp", "/dev/", "/run/", "/proc/", "$TMPDIR"].iter().any(|begin| path.starts_with(begin))
}

/// Where Python looks for modules, before its own. What is there under the name of a runner is what runs.
fn python_path(value: &str, shell: &mut ShellState<'_>) {
    const SHADOWS: &[&str] = &[
        "pytest.py",
        "pytest/__init__.py",
        "pytest/__main__.py",
        "_pytest/__init__.py",
        "unittest.py",
        "unittest/__init__.py",
        "unittest/__main__.py",
        "sitecustomize.py",
        "usercustomize.py",
        "coverage/__init__.py",
    ];
    for entry in value.split(':').filter(|entry| !entry.is_empty() && *entry != "$PYTHONPATH") {
        let Some(folder) = shell.folder.as_deref().filter(|_| !entry.contains('$') && !is_loose(entry))
        else {
            return distrust(shell, "PYTHONPATH=…".to_owned());
        };
        let place = joined(folder, entry);
        if let Some(file) =
            SHADOWS.iter().map(|file| joined(&place, file)).find(|file| shell.files.is_there(file))
        {
            return distrust(shell, file);
        }
    }
}
