//! What is hidden stays so, wherever it is and whatever is shown around it.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
};

use posse_sandbox::{CommandExit, Level};

use crate::{confined_said, confined_shell, names_in};

const LEVELS: [Level; 3] = [Level::Inspect, Level::Verify, Level::Full];

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Tries to talk to sockets; says of each whether it could.
fn talk(paths: &[String]) -> String {
    let program =
        "try: socket.socket(socket.AF_UNIX).connect(path); print('talks to', path)\n except OSError: pass";
    format!("python3 - <<'END'\nimport socket\nfor path in {paths:?}:\n {program}\nEND\n")
}

#[tokio::test]
async fn covers_in_the_workspace_come_after_what_is_shown_of_it() {
    let mut checked = 0;
    for level in LEVELS {
        for roots in [None, Some(["src", "home", ".git"].as_slice()), Some(["."].as_slice())] {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            for name in ["home/secret", "src/hidden/secret", ".git/hidden", "src/sub/token", ".git/hooks/x"] {
                write(&at(name), "secret");
            }
            let sockets: Vec<_> = ["top.sock", "src/a.sock", ".git/b.sock", "src/sub/c.sock"].map(at).into();
            let _held: Vec<_> = sockets.iter().map(|path| UnixListener::bind(path).unwrap()).collect();
            let sockets: Vec<String> = sockets.iter().map(|path| path.to_str().unwrap().to_owned()).collect();
            let line = format!(
                "cat home/secret src/hidden/secret .git/hidden src/sub/token 2>/dev/null; {}true",
                talk(&sockets)
            );
            let mut command = confined_shell(level, folder.path(), &line, |profile| {
                profile.hidden = ["src/hidden", ".git/hidden", "src/sub/token"].map(at).into();
                if let (Level::Full, Some(roots)) = (level, roots) {
                    // As others may write a path, with something at its end.
                    profile.writable = roots.iter().map(|root| at(root).join("")).collect();
                }
            });
            command.env.push(("HOME".to_owned(), at("home").to_str().unwrap().to_owned()));
            let finished = posse_sandbox::run(command).await.unwrap();
            let text = String::from_utf8(finished.output.bytes()).unwrap();
            assert_eq!((finished.exit, text.as_str()), (CommandExit::Code(0), ""), "{level:?} {roots:?}");
            checked += 1;
        }
    }
    assert_eq!(checked, 9);
}

#[tokio::test]
async fn hidden_places_that_are_not_there_cannot_be_made() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("deep/er")).unwrap();
    symlink(folder.path(), at("deep/link")).unwrap();
    let line = "mkdir -p conf/x; echo evil > conf/posse.toml; echo evil > deep/er/posse.toml; mv deep/er deep/e2; \
                mkdir deep/er; echo evil > deep/er/posse.toml; mkdir -p linked; echo evil > linked/x; true";
    confined_said(Level::Full, folder.path(), line, |profile| {
        profile.hidden =
            vec![at("conf"), at("deep/er/posse.toml"), at("deep/link/linked"), "/no/such/place".into()];
    })
    .await;
    assert_eq!(
        (names_in(folder.path()), names_in(&at("deep"))),
        (vec!["deep".to_owned()], vec!["er".into(), "link".into()])
    );
    assert_eq!(names_in(&at("deep/er")), Vec::<String>::new());
}

#[tokio::test]
async fn sockets_are_hidden_wherever_something_is_shown() {
    let home = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    fs::create_dir_all(at(".local/lib")).unwrap();
    fs::create_dir_all(at("docs")).unwrap();
    let sockets = [at(".local/lib/a.sock"), at("docs/b.sock")];
    let _held = sockets.each_ref().map(|path| UnixListener::bind(path).unwrap());
    let sockets: Vec<String> = sockets.iter().map(|path| path.to_str().unwrap().to_owned()).collect();
    for level in LEVELS {
        let line = format!("ls -d {} >/dev/null && {}true", sockets.join(" "), talk(&sockets));
        let mut command = confined_shell(level, folder.path(), &line, |profile| {
            profile.readable = vec![at("docs")];
            profile.without_overlay = true;
        });
        command.env.push(("HOME".to_owned(), home.path().to_str().unwrap().to_owned()));
        let finished = posse_sandbox::run(command).await.unwrap();
        assert_eq!(String::from_utf8(finished.output.bytes()).unwrap(), "", "{level:?}");
    }
}

#[tokio::test]
async fn secrets_in_toolchains_are_not_seen() {
    let home = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir_in("/var").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let names = [
        ".cargo/credentials",
        ".cargo/credentials.toml",
        ".local/share/uv/credentials/token",
        ".stack/upload/credentials.json",
        ".cabal/config",
        ".npm/.npmrc",
        ".pyenv/.pypirc",
        ".local/share/pnpm/auth.ini",
        ".julia/servers/x/auth.toml",
    ];
    let other =
        ["cargo/credentials.toml", "gem/credentials", "maven/conf/settings.xml", "gradle/gradle.properties"];
    names.iter().for_each(|name| write(&home.path().join(name), "secret"));
    other.iter().for_each(|name| write(&elsewhere.path().join(name), "secret"));
    write(&home.path().join(".cargo/bin/tool"), "seen");
    write(&elsewhere.path().join("cargo/bin/tool"), "seen");
    let all = names.iter().map(|name| home.path().join(name));
    let all: Vec<_> = all.chain(other.iter().map(|name| elsewhere.path().join(name))).collect();
    let all: Vec<&str> = all.iter().map(|path| path.to_str().unwrap()).collect();
    for level in LEVELS {
        let line = format!(
            "cat ~/.cargo/bin/tool {}/cargo/bin/tool {} 2>/dev/null",
            elsewhere.path().display(),
            all.join(" ")
        );
        let mut command = confined_shell(level, folder.path(), &line, |_| {});
        let named = |variable: &str, name: &str| {
            (variable.to_owned(), elsewhere.path().join(name).to_str().unwrap().to_owned())
        };
        command.env = vec![
            ("HOME".to_owned(), home.path().to_str().unwrap().to_owned()),
            named("CARGO_HOME", "cargo"),
            named("GEM_HOME", "gem"),
            named("MAVEN_HOME", "maven"),
            named("GRADLE_USER_HOME", "gradle"),
        ];
        let finished = posse_sandbox::run(command).await.unwrap();
        assert_eq!(String::from_utf8(finished.output.bytes()).unwrap(), "seenseen", "{level:?}");
    }
}

#[tokio::test]
async fn secrets_are_found_among_very_many_files() {
    let home = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    for n in 0..3_000 {
        write(&at(&format!(".deno/gen/{}/{n}", n % 10)), "seen");
    }
    write(&at(".deno/zzz/token"), "secret");
    let line = "cat ~/.deno/gen/0/0 ~/.deno/zzz/token 2>/dev/null";
    let mut command = confined_shell(Level::Inspect, folder.path(), line, |_| {});
    command.env = vec![("HOME".to_owned(), home.path().to_str().unwrap().to_owned())];
    let finished = posse_sandbox::run(command).await.unwrap();
    assert_eq!(String::from_utf8(finished.output.bytes()).unwrap(), "seen");
}

/// Secrets in folders of toolchains, in a home.
const SECRETS: &[&str] = &[
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".cargo/config.toml",
    ".cargo/git/.git-credentials",
    ".cargo/.npmrc",
    ".npm/.npmrc",
    ".npm/_logs/debug-0.log",
    ".npm/etc/npmrc",
    ".nvm/.npmrc",
    ".nvm/alias/npmrc",
    ".volta/.npmrc",
    ".bun/.npmrc",
    ".bun/.env",
    ".deno/token",
    "go/.netrc",
    "go/etc/netrc",
    "go/env",
    ".pyenv/.pypirc",
    ".pyenv/pip.conf",
    ".local/share/uv/credentials/token",
    ".local/share/pnpm/auth.ini",
    ".local/share/pnpm/rc",
    ".local/share/pnpm/global/5/.npmrc",
    ".rbenv/.gemrc",
    ".rbenv/plugins/credentials",
    ".asdf/.netrc",
    ".sdkman/etc/config",
    ".ghcup/config.yaml",
    ".cabal/config",
    ".stack/upload/credentials.json",
    ".stack/config.yaml",
    ".opam/config",
    ".juliaup/auth.toml",
    ".julia/servers/x/auth.toml",
    ".dotnet/NuGet.Config",
    ".dotnet/nuget/auth.json",
    ".m2/repository/settings.xml",
    ".m2/repository/settings-security.xml",
    ".gradle/wrapper/gradle.properties",
    ".gradle/caches/init.d/login.gradle",
    ".local/share/mise/.env",
    ".local/share/mise/shims/id_ed25519",
    ".local/bin/.netrc",
    "bin/.env",
];
/// The same in places that variables name.
const ELSEWHERE: &[&str] = &[
    "cargo/credentials.toml",
    "user.npmrc",
    "docker/config.json",
    "gradle/init.gradle",
    "composer/auth.json",
];
/// What is beside them and needed.
const NEEDED: &[&str] =
    &[".cargo/env", ".rustup/settings.toml", ".opam/opam-init/init.sh", "go/pkg/mod/x/token.go"];

/// A secret in a toolchain's folder, at every level, and what is beside it and needed stays.
#[tokio::test]
async fn every_known_secret_of_a_toolchain_is_covered_and_the_rest_is_seen() {
    let home = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir_in("/var").unwrap();
    let folder = tempfile::tempdir().unwrap();
    NEEDED.iter().for_each(|name| write(&home.path().join(name), "seen "));
    SECRETS.iter().for_each(|name| write(&home.path().join(name), "token = secret\n"));
    ELSEWHERE.iter().for_each(|name| write(&elsewhere.path().join(name), "token = secret\n"));
    let paths = |names: &[&str], base: &Path| -> String {
        names.iter().map(|name| format!("{} ", base.join(name).display())).collect()
    };
    let line = format!(
        "cat {} {}{} 2>/dev/null",
        paths(NEEDED, home.path()),
        paths(SECRETS, home.path()),
        paths(ELSEWHERE, elsewhere.path())
    );
    let named = |variable: &str, name: &str| {
        (variable.to_owned(), elsewhere.path().join(name).to_str().unwrap().to_owned())
    };
    for level in LEVELS {
        let mut command = confined_shell(level, folder.path(), &line, |_| {});
        command.env = vec![
            ("HOME".to_owned(), home.path().to_str().unwrap().to_owned()),
            named("CARGO_HOME", "cargo"),
            named("NPM_CONFIG_USERCONFIG", "user.npmrc"),
            named("DOCKER_CONFIG", "docker"),
            named("GRADLE_USER_HOME", "gradle"),
            named("COMPOSER_HOME", "composer"),
        ];
        let finished = posse_sandbox::run(command).await.unwrap();
        assert_eq!(
            String::from_utf8(finished.output.bytes()).unwrap(),
            "seen ".repeat(NEEDED.len()),
            "{level:?}"
        );
    }
    assert!(SECRETS.len() + ELSEWHERE.len() >= 40);
}

/// Somebody else can make folders of our usual names first; that takes nothing away from us.
#[test]
fn folders_made_by_somebody_else_do_not_take_the_shell_away() {
    use std::os::unix::{fs::PermissionsExt, process::CommandExt};
    if !rustix::process::geteuid().is_root() {
        // Without another user there is nobody else.
        return;
    }
    const STRANGER: u32 = 64_321;
    let made = ["/tmp", "/var/tmp"].map(|place| Path::new(place).join(format!(".posse-{STRANGER}")));
    made.iter().for_each(|path| fs::create_dir_all(path).unwrap());
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let work = folder.path().join("work");
    fs::create_dir(&work).unwrap();
    std::os::unix::fs::chown(&work, Some(STRANGER), Some(STRANGER)).unwrap();
    let value = work.to_str().unwrap();
    let mut process =
        crate::again(&program, "hidden::stands_in_for_a_stranger", "POSSE_TEST_STRANGER", value);
    process.uid(STRANGER).gid(STRANGER).current_dir("/").env("HOME", "/nonexistent").env("TMPDIR", "/tmp");
    process.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    let said = crate::said_lines(process);
    made.iter().for_each(|path| fs::remove_dir(path).unwrap());
    for entry in fs::read_dir("/tmp").unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&format!(".posse-{STRANGER}-")) {
            fs::remove_dir_all(entry.path()).unwrap();
        }
    }
    assert_eq!(said, ["Code(0) ran", "Code(0) ran"]);
}

/// Only of interest when started by the test above.
#[tokio::test]
async fn stands_in_for_a_stranger() {
    let Ok(work) = std::env::var("POSSE_TEST_STRANGER") else { return };
    for _ in 0..2 {
        let (exit, text) = confined_said(Level::Full, Path::new(&work), "echo ran", |_| {}).await;
        println!("SAID {exit:?} {}", text.trim());
    }
}

#[tokio::test]
async fn keys_of_the_system_are_hidden_even_from_root() {
    let folder = tempfile::tempdir().unwrap();
    let line = "cat /etc/shadow /etc/gshadow /etc/ssh/*_key 2>/dev/null; cat /etc/passwd | wc -l | grep -vx 0 >/dev/null && echo on; \
                echo $GIT_DISCOVERY_ACROSS_FILESYSTEM";
    for level in LEVELS {
        let (_, text) = confined_said(level, folder.path(), line, |_| {}).await;
        assert_eq!(text, "on\n1\n", "{level:?}");
    }
}
