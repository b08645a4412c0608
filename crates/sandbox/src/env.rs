//! The environment of a child: an allow-list, plus settings that keep programs from asking or paging.
//!
//! Fails closed: a variable that is not known to be needed and harmless does not reach a child.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::SYSTEM_FOLDERS;

/// Names that pass as they are.
const PASS: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "LC_ADDRESS",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NAME",
    "LC_NUMERIC",
    "LC_PAPER",
    "LC_TELEPHONE",
    "LC_TIME",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "SHELL",
    // Toolchains that are not where their defaults say.
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "GOFLAGS",
    "GOPROXY",
    "JAVA_HOME",
    "MAVEN_HOME",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "PYTHONPATH",
    "NODE_PATH",
    "NVM_DIR",
    "NVM_BIN",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_DIR",
    "GEM_HOME",
    "GEM_PATH",
    "RBENV_ROOT",
    "RBENV_VERSION",
    "ASDF_DIR",
    "MISE_DATA_DIR",
    "DOTNET_ROOT",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "CPATH",
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "RUSTFLAGS",
    "MAKEFLAGS",
    "NIX_PATH",
    "NIX_SSL_CERT_FILE",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    // What Windows programs cannot start without.
    "SystemRoot",
    "SystemDrive",
    "ComSpec",
    "PATHEXT",
    "windir",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "ProgramFiles",
    "ProgramData",
];

/// Set for every child: nobody is there to answer a question or to turn a page.
const SET: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("CI", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("EDITOR", "false"),
    ("VISUAL", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "false"),
    ("SSH_ASKPASS", "false"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("SUDO_ASKPASS", "false"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PIP_NO_INPUT", "1"),
    ("NPM_CONFIG_YES", "true"),
    ("PYTHONUNBUFFERED", "1"),
    ("PYTHON_BASIC_REPL", "1"),
];

/// Words that make a name a secret's, whatever list it is on.
const SECRET_WORDS: &[&str] =
    &["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "COOKIE"];

/// What every child gets of this process's environment.
pub fn child_env() -> Vec<(OsString, OsString)> {
    let kept = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(passes));
    let kept = kept.filter(|(_, value)| !holds_password(&value.to_string_lossy()));
    kept.chain(SET.iter().map(|(name, value)| ((*name).into(), (*value).into()))).collect()
}

/// Variables that name folders in which programs look for others, one behind the other.
const LISTS: &[&str] = &[
    "PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "CPATH",
    "PKG_CONFIG_PATH",
    "PYTHONPATH",
    "NODE_PATH",
    "GEM_PATH",
    "GOPATH",
];

/// The same without what leads into these folders: there, agents write what would run. Gives back what was left out, as
/// `NAME` or `NAME: entry`. The home stays, whatever it is.
pub(crate) fn without(
    env: Vec<(OsString, OsString)>,
    folders: &[PathBuf],
    cwd: &Path,
) -> (Vec<(OsString, OsString)>, Vec<String>) {
    let real = folders.iter().filter_map(|folder| folder.canonicalize().ok());
    let folders: Vec<PathBuf> = folders.iter().cloned().chain(real).collect();
    let leads = |word: &str| leads_into(&cwd.join(word), &folders);
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for (name, value) in env {
        let (shown, text) = (name.to_string_lossy(), value.to_string_lossy());
        if LISTS.contains(&&*shown) {
            // An empty entry is the folder that the program is in.
            let (inside, outside): (Vec<&str>, Vec<&str>) = text.split(':').partition(|entry| leads(entry));
            left_out.extend(inside.iter().map(|entry| format!("{shown}: {entry}")));
            match outside.is_empty() {
                false => kept.push((name.clone(), outside.join(":").into())),
                // Without any, programs are looked for wherever a shell likes.
                true if shown == "PATH" => kept.push((name.clone(), SYSTEM_FOLDERS.join(":").into())),
                true => {}
            }
            continue;
        }
        let words = text.split(|c: char| c.is_whitespace() || "=,:;".contains(c));
        // A letter before it says what it is for, as in `-I/usr/include`.
        let words = words.map(|word| word.strip_prefix('-').and_then(|word| word.get(1..)).unwrap_or(word));
        let is_path = |word: &&str| word.contains('/') || matches!(*word, "." | "..");
        let mentions = folders.iter().any(|folder| text.contains(&*folder.to_string_lossy()));
        if shown != "HOME" && (mentions || words.filter(is_path).any(leads)) {
            left_out.push(shown.into_owned());
        } else {
            kept.push((name, value));
        }
    }
    (kept, left_out)
}

/// Whether a path is in one of these folders, as it is written or where its links lead.
fn leads_into(path: &Path, folders: &[PathBuf]) -> bool {
    let there = path.ancestors().find_map(|above| above.canonicalize().ok());
    let inside = |path: &Path| folders.iter().any(|folder| path.starts_with(folder));
    inside(path) || there.as_deref().is_some_and(inside)
}

fn passes(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    if SECRET_WORDS.iter().any(|word| upper.contains(word)) {
        return false;
    }
    if cfg!(windows) {
        PASS.iter().any(|known| known.eq_ignore_ascii_case(name))
    } else {
        PASS.contains(&name)
    }
}

/// Whether there is an address in it that names a user with a password, or a token in a user's place.
fn holds_password(value: &str) -> bool {
    let mut parts = value.split("://");
    let mut scheme = parts.next().unwrap_or_default();
    parts.any(|rest| {
        let host = rest.split(['/', '?', '#', ' ', ',', '|']).next().unwrap_or_default();
        let before = scheme.to_ascii_lowercase();
        let web = before.ends_with("http") || before.ends_with("https");
        scheme = rest;
        host.rsplit_once('@').is_some_and(|(user, _)| user.contains(':') || web)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_names_pass_and_secrets_never() {
        let pass = ["PATH", "HOME", "LC_ALL", "LC_TIME", "CARGO_HOME", "VIRTUAL_ENV", "NODE_PATH", "TZ"];
        let stay = [
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "LC_SECRET",
            "LC_EXTRA",
            "LC_api_key",
            "NPM_CONFIG__AUTH",
            "BASH_ENV",
            "ENV",
            "LD_PRELOAD",
            "GIT_DIR",
            "GIT_CONFIG_GLOBAL",
            "PROMPT_COMMAND",
            "SSH_AUTH_SOCK",
            "DATABASE_URL",
            "BASH_FUNC_ls%%",
            "",
            "path",
            "PERL5OPT",
            "PYTHONSTARTUP",
        ];
        pass.iter().for_each(|name| assert!(passes(name), "{name} should pass"));
        stay.iter().for_each(|name| assert!(!passes(name), "{name} should stay"));
    }

    #[test]
    fn what_leads_to_where_agents_write_is_left_out() {
        let outer = tempfile::tempdir().unwrap();
        let at = |name: &str| outer.path().join(name).display().to_string();
        let work = outer.path().join("work");
        std::fs::create_dir_all(work.join("bin")).unwrap();
        std::fs::create_dir(outer.path().join("beside")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(work.join("bin"), outer.path().join("way")).unwrap();
        let path = [
            ".",
            "",
            "bin",
            &at("work/bin"),
            &at("work/missing"),
            &at("way"),
            &at("beside/../work"),
            "/usr/bin",
        ];
        let path = format!("{}:{}", path.join(":"), at("beside"));
        let env = [
            ("PATH", path.as_str()),
            ("PYTHONPATH", &at("work")),
            ("VIRTUAL_ENV", &at("work/.venv")),
            ("CARGO_HOME", &at("beside/cargo")),
            ("RUSTFLAGS", &format!("-Clinker={} -O", at("work/ld"))),
            ("LDFLAGS", &format!("-L{}", at("work/lib"))),
            ("CFLAGS", "-O2 -I/usr/include"),
            ("CC", "./cc"),
            ("CXX", "clang++"),
            ("HOME", &at("work")),
            ("LANG", "C.UTF-8"),
        ];
        let env = env.map(|(name, value)| (name.into(), value.into())).to_vec();
        let (kept, left_out) = without(env, std::slice::from_ref(&work), &work);
        let kept: Vec<(String, String)> = kept
            .iter()
            .map(|(name, value)| (name.to_string_lossy().into(), value.to_string_lossy().into()))
            .collect();
        let want = [
            ("PATH", format!("/usr/bin:{}", at("beside"))),
            ("CARGO_HOME", at("beside/cargo")),
            ("CFLAGS", "-O2 -I/usr/include".into()),
            ("CXX", "clang++".into()),
            ("HOME", at("work")),
            ("LANG", "C.UTF-8".into()),
        ];
        assert_eq!(kept, want.map(|(name, value)| (name.to_owned(), value)));
        assert_eq!(left_out.len(), 12, "{left_out:?}");
    }

    #[test]
    fn addresses_with_passwords_do_not_pass() {
        let stay = [
            "https://me:secret@proxy.example",
            "direct,https://me:secret@proxy.example/x,off",
            "HTTPS://token@proxy.example",
            "ssh://git@a.example postgres://me:secret@b.example/db",
            "https://a.example,https://me:p@b.example",
        ];
        let pass = [
            "",
            "/usr/bin:/opt/me@work/bin",
            "https://proxy.example/a@b:c",
            "ssh://git@a.example/x",
            "https://proxy.example,direct",
            "-L/opt/a:b@c",
        ];
        stay.iter().for_each(|value| assert!(holds_password(value), "{value} should stay"));
        pass.iter().for_each(|value| assert!(!holds_password(value), "{value} should pass"));
    }
}
