//! Options of test runners: which of them change nothing about what an exit code means, with which nothing is tested, and
//! which may leave no test to run. One that is not known makes the exit code alone no proof.

use super::environment::is_loose;
use super::judged::{Doubt, shown};

/// The options of one kind of runner, by white space.
#[derive(Debug)]
pub(super) struct Options {
    names: &'static str,
    /// They change nothing about what is tested and how it ends.
    flags: &'static str,
    /// The same with a value.
    values: &'static str,
    /// With a value that may leave no test to run, which is no failure for this runner.
    selects: &'static str,
    /// With them nothing is tested.
    shows: &'static str,
    /// Whether its other words select tests in that way.
    filters: bool,
}

/// With these, no program of any kind tests anything.
const SHOWS: &str = "\
    --help -h --version --list --list-tests --listTests --collect-only --co --no-run --dry-run --show-only --build-only --fixtures --markers \
    --listenvs --test-no-exec --no-run-tests --print-labels --list-files --showConfig --list-suites --list-groups";

const KINDS: &[Options] = &[
    Options {
        names: "cargo cross",
        flags: "--workspace --all --all-features --no-default-features --release -r --lib --bins --tests --doc --examples \
                --benches --all-targets --locked --offline --frozen -q --quiet -v -vv --verbose --no-fail-fast --keep-going --ff \
                --fail-fast --ignore-rust-version --timings --nocapture --no-capture --show-output --include-ignored \
                --html --lcov",
        values: "-p --package --exclude --bin --test --example --bench -F --features --target --profile --target-dir \
                 --manifest-path -j --jobs --color --message-format --test-threads -P --cargo-profile --retries --partition \
                 --status-level --final-status-level --success-output --failure-output --build-jobs --output-path --no-tests -C",
        selects: "--skip -E --filter-expr --filterset --run-ignored",
        shows: "-V --explain --build-plan --unit-graph",
        filters: true,
    },
    Options {
        names: "pytest py.test",
        flags: "-v -q -x -s -l --exitfirst --lf --last-failed --ff --failed-first --nf --sw --stepwise --no-header --no-summary \
                --showlocals --disable-warnings --disable-pytest-warnings --strict --strict-markers --strict-config --cov --no-cov \
                --doctest-modules --setup-show --forked --full-trace --cache-clear --verbose --quiet --new-first --pdb",
        values: "-k -m -n -r -W --tb --maxfail --durations --color --junitxml --junit-xml --cov --cov-report --cov-fail-under \
                 --timeout --ignore --ignore-glob --deselect --rootdir --basetemp --numprocesses --dist --log-level --log-cli-level \
                 --capture --html --durations-min --confcutdir --asyncio-mode --import-mode --ds --reruns --randomly-seed --cov-config",
        selects: "",
        shows: "-V --funcargs --fixtures-per-test --setup-plan --setup-only --cache-show",
        filters: false,
    },
    Options {
        names: "unittest nose2 nosetests trial",
        flags: "-v -q -f -b -c --verbose --quiet --failfast --buffer --catch --locals --parallel --keepdb --noinput --no-input \
                --debug-mode --reverse --timing",
        values: "-s -t --start-directory --top-level-directory --durations --settings --verbosity --parallel",
        selects: "-k -p --pattern --tag --exclude-tag",
        shows: "",
        filters: true,
    },
    Options {
        names: "go",
        flags: "-v -race -short -cover -failfast -json -a -work -trimpath -msan -asan -fullpath",
        values: "-count -timeout -tags -p -parallel -cpu -coverprofile -covermode -coverpkg -bench -benchtime -benchmem -mod -ldflags \
                 -gcflags -C -shuffle -vet -outputdir -cpuprofile -memprofile -fuzztime",
        selects: "-run -skip",
        shows: "-c -list -n -help",
        filters: false,
    },
    Options {
        names: "jest vitest mocha ava jasmine karma tap playwright cypress wdio web-test-runner react-scripts bun ng",
        flags: "--ci --coverage --verbose --silent --runInBand -i --bail -b --no-cache --detectOpenHandles --forceExit --colors \
                --color --no-color --run --no-coverage --expand --exit --recursive --no-watch --headless --serial --fail-fast -u \
                --updateSnapshot --all --no-threads --typecheck",
        values: "--maxWorkers -w --testPathPattern --testPathPatterns --config -c --reporter --reporters -R --timeout --testTimeout \
                 --env --environment --project --dir --root --pool --workers -j --retries --shard --browser --browsers --spec \
                 --watchAll --watch --maxConcurrency --coverageReporters --output --extension",
        selects: "-t --testNamePattern -g --grep --match -m --filter",
        shows: "-v -V --init --clearCache --listFiles",
        filters: false,
    },
    Options {
        names: "mvn mvnw mvnd",
        flags: "-q -B -e -X -U -o -nsu -ntp -am -amd -V -fae -ff -C -N --quiet --batch-mode --errors --debug --offline --fail-at-end \
                --no-transfer-progress --update-snapshots --also-make --fail-fast",
        values: "-pl --projects -f --file -T --threads -s --settings -rf --resume-from",
        selects: "",
        shows: "-v",
        filters: false,
    },
    Options {
        names: "gradle gradlew",
        flags: "-i --info -q --quiet -d --debug -s --stacktrace -S --full-stacktrace --offline --no-daemon --daemon --parallel \
                --no-parallel --continue --rerun-tasks --build-cache --no-build-cache --scan --no-scan --warn -w \
                --refresh-dependencies --configuration-cache --no-configuration-cache --no-watch-fs --profile --rerun",
        values: "-p --project-dir --tests --console --max-workers --warning-mode --gradle-user-home -g",
        selects: "",
        shows: "-m -v --dryRun",
        filters: false,
    },
    Options {
        names: "dotnet",
        flags: "--no-build --no-restore --nologo --blame --blame-hang --interactive",
        values: "-c --configuration -f --framework --logger -l --settings -s --results-directory -r --runtime -v --verbosity --collect \
                 --arch -a --os --output -o",
        selects: "--filter",
        shows: "-t --info -?",
        filters: false,
    },
    Options {
        names: "phpunit pest paratest codecept composer",
        flags: "--testdox --debug --verbose -v --stop-on-failure --stop-on-error --no-coverage --colors --parallel --ci \
                --fail-on-warning --fail-on-risky --do-not-cache-result --display-warnings --no-progress --compact",
        values: "-c --configuration --log-junit --coverage-html --coverage-text --coverage-clover -p --processes --order-by",
        selects: "--filter --testsuite --group --exclude-group",
        shows: "--generate-configuration --check-version --list-test-files",
        filters: true,
    },
    Options {
        names: "rspec rails minitest cucumber",
        flags: "-b --backtrace --color -c --no-color --fail-fast --profile -w --warnings --verbose --defer-output --only-failures -d",
        values: "-f --format -I -o --out --seed --order -j -p --profile",
        selects: "-e --example -t --tag -P --pattern -n --name",
        shows: "-v --init",
        filters: true,
    },
    Options {
        names: "rake",
        flags: "-q -s --silent --quiet -t --trace -m --multitask",
        values: "-f --rakefile -C --directory -j --jobs",
        selects: "",
        shows: "-T -n -P -W -D -A -V --tasks --prereqs --describe",
        filters: false,
    },
    Options {
        names: "ctest",
        flags: "-V -VV -Q --output-on-failure --verbose --extra-verbose --quiet --progress --rerun-failed --stop-on-failure \
                --schedule-random --no-compress-output",
        values: "-j --parallel -C --build-config --test-dir --timeout --preset --repeat -O --output-log --output-junit --no-tests",
        selects: "-R --tests-regex -E --exclude-regex -L -LE --label-regex --label-exclude -I",
        shows: "-N",
        filters: false,
    },
    Options {
        names: "bats prove",
        flags: "-r --recursive -t --tap -p --pretty --timing -T -l -b -q -Q -f -o -m --verbose --lib --blib --recurse --merge --timer \
                --color --nocolor -s --print-output-on-failure",
        values: "-j --jobs -F --formatter --report-formatter --output -I",
        selects: "--filter --filter-tags",
        shows: "-c --count -H -V -D --dry",
        filters: false,
    },
    Options {
        names: "tox nox",
        flags: "-v -q -r --recreate --skip-missing-interpreters --develop --parallel -R --no-venv --reuse-existing-virtualenvs",
        values: "-e -s -m --session --sessions --workdir -p --python",
        selects: "",
        shows: "-l -a --listenvs-all --showconfig --notest -n --sdistonly --install-only --list-sessions",
        filters: false,
    },
    Options {
        names: "ninja",
        flags: "-v -k --verbose --quiet",
        values: "-C -f -j -k -l",
        selects: "",
        shows: "-n -t",
        filters: false,
    },
    Options {
        names: "meson bazel bazelisk buck buck2 swift zig dart flutter deno mix stack cabal dune sbt xcodebuild helm terraform nx turbo",
        flags: "-v --verbose -q --quiet --color --no-color -A --allow-all --parallel --keep_going -k --trace --no-rebuild --coverage",
        values: "-C --test_output -j --jobs --config -c --seed -p --project -scheme -destination -workspace --test_timeout --filter",
        selects: "--only --exclude --include --test_filter --name --tags",
        shows: "-l -list -dry-run",
        filters: false,
    },
];

const OTHERS: Options = Options {
    names: "",
    flags: "-v --verbose -q --quiet --color --no-color",
    values: "",
    selects: "",
    shows: "",
    filters: false,
};

/// Options by which other code runs in a runner, or in its place: what it prints may be anybody's.
const REPLACES: &[(&str, &str)] = &[
    ("pytest py.test", "-p"),
    ("cargo cross", "--config -Z"),
    ("go", "-exec -toolexec -overlay -modfile"),
    (
        "jest vitest mocha ava jasmine karma tap playwright cypress wdio",
        "--runner --testRunner --transform --setupFiles --setupFilesAfterEnv --globalSetup -r --require --import --loader --ui",
    ),
    ("rspec rails minitest cucumber", "-r --require"),
    ("rake", "-r -R -I -e -p -E --execute --require"),
    ("bats prove", "-e --exec --source -M -P"),
    ("phpunit pest paratest codecept", "--bootstrap --extension --printer --prepend"),
    ("gradle gradlew", "-I --init-script -b --build-file -c --settings-file"),
    ("zig", "--test-cmd --test-cmd-bin"),
    ("bazel bazelisk", "--run_under"),
    ("dotnet", "--test-adapter-path"),
    ("unittest nose2 nosetests trial", "--testrunner --plugin"),
    ("behave", "--runner"),
    ("robot", "--listener --variablefile --pythonpath -P"),
];

/// Options whose value is a file that says what is tested and how.
const READS: &[(&str, &str)] = &[
    ("pytest py.test", "-c --config-file"),
    ("jest vitest mocha ava jasmine karma tap playwright cypress wdio", "--config -c"),
    ("mvn mvnw mvnd", "-f --file"),
    ("rake", "-f --rakefile"),
    ("tox nox", "-c --conf -f --noxfile"),
    ("phpunit pest paratest codecept", "-c --configuration"),
    ("dotnet", "--settings -s"),
];

/// Whether a runner has such an option.
fn has(table: &[(&str, &str)], runner: &str, option: &str) -> bool {
    table.iter().any(|(names, options)| is(names, runner) && is(options, option))
}

fn is(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// The options of a runner.
pub(super) fn of(program: &str) -> &'static Options {
    KINDS.iter().find(|kind| is(kind.names, program)).unwrap_or(&OTHERS)
}

/// Whether a program that gets this word only says something, whatever it is.
pub(super) fn shows_only(word: &str) -> bool {
    is(SHOWS, word)
}

/// What an option is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptionKind {
    Flag,
    Value,
    Selects,
    Shows,
    Replaces,
    Reads,
    Strange,
}

/// What the words behind a runner make of its exit code and its output.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CheckedOptions {
    pub(super) doubt: Option<Doubt>,
    /// What has other code run.
    pub(super) replaced: Option<String>,
    /// Files that say what is tested.
    pub(super) reads: Vec<String>,
}

impl Options {
    /// The first of the runners that have these; they stand for all of them.
    fn runner(&self) -> &str {
        self.names.split(' ').next().unwrap_or_default()
    }

    /// What a word that begins with a dash is.
    pub(super) fn kind(&self, word: &str) -> OptionKind {
        let name = word.split('=').next().unwrap_or(word);
        // Go takes both.
        let name = if is(self.names, "go") {
            name.strip_prefix('-').filter(|n| n.starts_with('-')).unwrap_or(name)
        } else {
            name
        };
        let long = name.starts_with("--");
        if has(REPLACES, self.runner(), name) {
            return OptionKind::Replaces;
        } else if has(READS, self.runner(), name) {
            return OptionKind::Reads;
        } else if is(self.flags, name) {
            return OptionKind::Flag;
        } else if is(self.values, name) {
            return OptionKind::Value;
        } else if is(self.selects, name) {
            return OptionKind::Selects;
        } else if is(self.shows, name) || is(SHOWS, name) {
            return OptionKind::Shows;
        }
        // Many programs take the beginning of a long option for the whole.
        let begins = |list: &str| list.split_ascii_whitespace().any(|one| one.starts_with(name));
        if long && name.len() > 3 && (begins(SHOWS) || begins(self.shows)) {
            return OptionKind::Shows;
        }
        // Those of Maven are words behind one dash.
        let joins = !long && name.len() > 2 && (!is(self.names, "mvn") || name.starts_with("-T"));
        let short = name.get(..2).filter(|_| joins);
        // `-n4`, and `-xvs` for `-x -v -s`.
        let attached = short.is_some_and(|short| is(self.values, short));
        let letters: Vec<String> = name.chars().skip(1).map(|letter| format!("-{letter}")).collect();
        if short.is_some()
            && letters.iter().any(|letter| is(self.shows, letter) || is(SHOWS, letter))
            && !attached
        {
            return OptionKind::Shows;
        }
        let all = short.is_some() && letters.iter().all(|letter| is(self.flags, letter));
        if attached || all { OptionKind::Flag } else { OptionKind::Strange }
    }

    /// What the words behind a runner make of its exit code; none if nothing is tested.
    pub(super) fn judge(&self, words: &[String]) -> Result<CheckedOptions, Shows> {
        let (mut checked, mut at) = (CheckedOptions::default(), 0);
        let strange = |word: &str| Some(Doubt::Strange(shown(word)));
        let selects = |word: &str| Some(Doubt::Selects(shown(word)));
        while let Some(word) = words.get(at) {
            at += 1;
            if word == "--" {
                continue;
            } else if !word.starts_with('-') || word.len() < 2 {
                if self.filters && checked.doubt.is_none() {
                    checked.doubt = selects(word);
                }
                // Tests that are nobody's.
                checked.replaced = checked.replaced.or(is_loose(word).then(|| word.clone()));
                continue;
            }
            let java = is(self.names, "mvn") || is(self.names, "gradle");
            let apart = !word.contains('=');
            let kind = of_java(word, words.get(at)).filter(|_| java).unwrap_or_else(|| self.kind(word));
            let value =
                if apart { words.get(at).cloned() } else { word.split_once('=').map(|(_, v)| v.to_owned()) };
            let value = value.unwrap_or_default();
            if matches!(word.split('=').next(), Some("--manifest-path" | "-C" | "--test-dir" | "--rootdir"))
                && is_loose(&value)
            {
                checked.replaced = Some(value.clone());
            }
            match kind {
                OptionKind::Flag => {}
                OptionKind::Shows => return Err(Shows),
                OptionKind::Value => at += usize::from(apart),
                OptionKind::Reads => {
                    at += usize::from(apart);
                    checked.reads.push(value);
                }
                OptionKind::Selects => {
                    at += usize::from(apart);
                    checked.doubt = checked.doubt.or(selects(word));
                }
                // `-p no:NAME` only leaves something out.
                OptionKind::Replaces if value.starts_with("no:") => at += usize::from(apart),
                OptionKind::Replaces => checked.replaced = Some(word.clone()),
                OptionKind::Strange => checked.doubt = strange(word),
            }
        }
        Ok(checked)
    }
}

/// Nothing is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shows;

/// `-DskipTests`, `-x test`: what Maven and Gradle are told in their own way.
fn of_java(word: &str, next: Option<&String>) -> Option<OptionKind> {
    if matches!(word, "-x" | "--exclude-task") {
        let test = next.is_some_and(|task| task == "test" || task.ends_with(":test") || task == "check");
        return Some(if test { OptionKind::Shows } else { OptionKind::Value });
    }
    let (name, value) = word.strip_prefix("-D")?.split_once('=').unwrap_or((&word[2..], "true"));
    Some(match name {
        "skipTests" | "maven.test.skip" | "skip.tests" | "skipUTs" | "surefire.skip" if value == "true" => {
            OptionKind::Shows
        }
        "skipTests" | "maven.test.skip" | "test" | "file.encoding" | "skipITs" => OptionKind::Flag,
        name if name.starts_with("spring.") || name.starts_with("org.slf4j") => OptionKind::Flag,
        _ => OptionKind::Strange,
    })
}
