//! The environment of a child: an allow-list, plus settings that keep programs from asking or paging.
//!
//! Fails closed: a variable that is not known to be needed and harmless does not reach a child.

use std::ffi::OsString;

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
