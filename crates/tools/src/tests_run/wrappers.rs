//! Programs that run another one: `env`, `timeout 5`, `uv run`, `docker exec app`. An option of theirs that is not known
//! may have something else run.

use super::expand::is_unknown;
use super::looked::joined;
use super::word::is_name;

/// One such program: its second word if it has one, options, options with a value, how many words of its own come first.
struct Wrapper {
    name: &'static str,
    second: &'static [&'static str],
    flags: &'static str,
    values: &'static str,
    own: usize,
}

const fn one(name: &'static str, flags: &'static str, values: &'static str, own: usize) -> Wrapper {
    Wrapper { name, second: &[], flags, values, own }
}

const fn two(
    name: &'static str,
    second: &'static [&'static str],
    flags: &'static str,
    values: &'static str,
) -> Wrapper {
    Wrapper { name, second, flags, values, own: 0 }
}

const WRAPPERS: &[Wrapper] = &[
    one("env", "-i - --ignore-environment -v --debug", "-u --unset -C --chdir -a --argv0", 0),
    one("timeout", "--preserve-status --foreground -v --verbose -p -f", "-k --kill-after -s --signal", 1),
    one("gtimeout", "--preserve-status --foreground -v --verbose", "-k --kill-after -s --signal", 1),
    one("nice", "", "-n --adjustment", 0),
    one("ionice", "-t", "-c -n --class --classdata", 0),
    one("time", "-p -v -a -q --verbose --portability --append", "-f -o --format --output", 0),
    one("nohup", "", "", 0),
    one("setsid", "-w --wait -c --ctty", "", 0),
    one("stdbuf", "", "-i -o -e --input --output --error", 0),
    one(
        "xvfb-run",
        "-a --auto-servernum -l",
        "-s -n -e -f -p -w --server-args --server-num --error-file --wait",
        0,
    ),
    one("sudo", "-E -n -H -S -k --preserve-env --non-interactive", "-u -g --user --group", 0),
    one("doas", "-n", "-u", 0),
    one("command", "-p", "", 0),
    one("builtin", "", "", 0),
    one("exec", "-c -l", "-a", 0),
    one("unbuffer", "-p", "", 0),
    one("taskset", "-c -a --cpu-list --all-tasks", "", 1),
    one("cross-env", "", "", 0),
    one("npx", NODE_FLAGS, "-p --package", 0),
    one("bunx", NODE_FLAGS, "-p --package", 0),
    one("pnpx", NODE_FLAGS, "-p --package", 0),
    two("uv", &["run"], UV_FLAGS, UV_VALUES),
    two("poetry", &["run"], "-q --quiet -v -n --no-interaction", "-C --directory -P --project"),
    two("pipenv", &["run"], "", ""),
    two("pdm", &["run"], "-s", "-p --project"),
    two("rye", &["run"], "", ""),
    two("hatch", &["run"], "", ""),
    two("conda", &["run"], "--no-capture-output --live-stream -v", "-n --name -p --prefix --cwd"),
    two("micromamba", &["run"], "", "-n --name -p --prefix --cwd"),
    two("bundle", &["exec"], "--keep-file-descriptors", ""),
    two("pnpm", &["exec", "dlx"], "-r --recursive -w", "-C --dir --filter -F"),
    two("yarn", &["exec", "dlx"], "-q --quiet", "-p --package"),
    two("npm", &["exec", "x"], "-y --yes --no", "-p --package -w --workspace"),
    two("bun", &["x"], "--bun", ""),
    two("mise", &["exec", "x"], "", ""),
    Wrapper { name: "direnv", second: &["exec"], flags: "", values: "", own: 1 },
];

const NODE_FLAGS: &str = "-y --yes --no --no-install --prefer-offline --prefer-online --offline --bun -q --quiet --ignore-existing";
const UV_FLAGS: &str = "\
    --no-sync --frozen --locked --all-extras --all-groups --dev --no-dev --isolated --active -q --quiet -v --offline --no-project --exact \
    --all-packages --no-progress";
const UV_VALUES: &str = "\
    --with --with-requirements --with-editable --python -p --extra --group --project --package --directory --only-group";

const CONTAINER_FLAGS: &str = "\
    --rm -i -t -it -ti -T --init --interactive --tty --no-deps --privileged --quiet -q --build --service-ports --quiet-pull --read-only";
const CONTAINER_VALUES: &str = "\
    -e --env -u --user -w --workdir -v --volume --name -f --file -p --project-name --publish --network --platform --mount --memory -m --cpus \
    --add-host --profile --pull --index";

/// With these, nothing is run.
const SHOWS: &[&str] = &["--help", "-h", "--version", "-V", "-l", "--list"];

/// What stands behind such a program.
#[derive(Default)]
pub(super) struct Behind {
    pub(super) words: Vec<String>,
    /// What it sets for it.
    pub(super) assigned: Vec<(String, String)>,
    /// Where it runs it.
    pub(super) folder: Option<String>,
    /// An option that is not known.
    pub(super) strange: Option<String>,
    /// Whether it only says something.
    pub(super) shows: bool,
    /// A shell text that it runs.
    pub(super) text: Option<String>,
}

/// What a program runs, if it is one that runs others.
pub(super) fn behind(program: &str, rest: &[String]) -> Option<Behind> {
    if matches!(program, "docker" | "podman" | "docker-compose") {
        return container(program, rest);
    }
    let is = |wrapper: &&Wrapper| {
        wrapper.name == program
            && (wrapper.second.is_empty()
                || rest.first().is_some_and(|word| wrapper.second.contains(&word.as_str())))
    };
    let wrapper = WRAPPERS.iter().find(is)?;
    let rest = if wrapper.second.is_empty() { rest } else { &rest[1..] };
    let mut behind = options(wrapper, rest);
    if program == "command"
        && rest.first().is_some_and(|word| word.starts_with(['-']) && word.contains(['v', 'V']))
    {
        behind.shows = true;
    } else if program == "setsid" && !rest.iter().any(|word| word == "-w" || word == "--wait") {
        // It may not wait for what it starts.
        behind.strange = behind.strange.or(Some("setsid".to_owned()));
    }
    Some(behind)
}

fn options(wrapper: &Wrapper, rest: &[String]) -> Behind {
    let mut behind = Behind::default();
    let (mut at, mut own) = (0, wrapper.own);
    let is = |list: &str, word: &str| list.split_ascii_whitespace().any(|one| one == word);
    let sets = matches!(wrapper.name, "env" | "cross-env" | "sudo" | "doas");
    while let Some(word) = rest.get(at) {
        at += 1;
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        if word == "--" {
            break;
        } else if is(wrapper.values, word) {
            note_value(wrapper.name, word, rest.get(at), &mut behind);
            at += 1;
        } else if is(wrapper.flags, word) || (name != word && is(wrapper.values, name)) {
        } else if matches!(word.as_str(), "-c" | "--call") && wrapper.flags == NODE_FLAGS {
            behind.text = rest.get(at).cloned();
            return behind;
        } else if matches!(word.as_str(), "-m" | "--module") && wrapper.name == "uv" {
            behind.words = ["python", "-m"].map(str::to_owned).to_vec();
            behind.words.extend_from_slice(&rest[at..]);
            return behind;
        } else if SHOWS.contains(&word.as_str()) && wrapper.own == 0 {
            behind.shows = true;
            return behind;
        } else if word.starts_with('-') && word.len() > 1 {
            let attached = word.get(..2).is_some_and(|short| is(wrapper.values, short));
            let number = word[1..].parse::<u32>().is_ok();
            if !attached && !number {
                behind.strange = behind.strange.or(Some(format!("{} {word}", wrapper.name)));
            }
        } else if let Some((name, value)) = word.split_once('=').filter(|(name, _)| sets && is_name(name)) {
            behind.assigned.push((name.to_owned(), value.to_owned()));
        } else if own > 0 {
            own -= 1;
        } else {
            at -= 1;
            break;
        }
    }
    behind.words = rest[at.min(rest.len())..].to_vec();
    // Behind `--` it can still set something.
    while let Some((name, value)) =
        behind.words.first().filter(|_| sets).and_then(|word| word.split_once('='))
        && is_name(name)
    {
        behind.assigned.push((name.to_owned(), value.to_owned()));
        behind.words.remove(0);
    }
    behind
}

/// What the value of an option means for what is run.
fn note_value(wrapper: &str, option: &str, value: Option<&String>, behind: &mut Behind) {
    let folder = matches!(option, "--chdir" | "--directory" | "--cwd" | "--dir")
        || option == "-C" && matches!(wrapper, "env" | "poetry" | "pnpm");
    if let Some(value) = value.filter(|_| folder) {
        behind.folder = Some(value.clone());
    } else if value.is_none_or(|value| is_unknown(value)) {
        behind.strange = Some(format!("{wrapper} {option}"));
    }
}

/// `docker exec NAME …`, `docker compose run SERVICE …`.
fn container(program: &str, words: &[String]) -> Option<Behind> {
    let inner =
        Wrapper { name: "docker", second: &[], flags: CONTAINER_FLAGS, values: CONTAINER_VALUES, own: 0 };
    let mut rest = words.to_vec();
    if program != "docker-compose" && rest.first().is_some_and(|word| word == "compose") {
        rest = options(&inner, &rest[1..]).words;
    }
    match rest.first().map(String::as_str) {
        Some("exec" | "run") => {
            let mut behind = options(&Wrapper { own: 1, ..inner }, &rest[1..]);
            behind.folder = None;
            behind.assigned.clear();
            Some(behind)
        }
        _ => None,
    }
}

/// Folders in which such a program looks first, from where it runs upwards.
pub(super) fn own_folders(program: &str, folder: &str) -> Vec<String> {
    let bin = match program {
        "npx" | "bunx" | "pnpx" | "pnpm" | "yarn" | "npm" | "bun" => "node_modules/.bin",
        "uv" | "poetry" | "pdm" | "rye" | "hatch" | "pipenv" => ".venv/bin",
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    let mut folder = Some(folder);
    while let Some(place) = folder {
        found.push(joined(place, bin));
        folder = place.rsplit_once('/').map(|(above, _)| above).or((!place.is_empty()).then_some(""));
    }
    found
}
