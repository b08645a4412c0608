//! Bundles that nobody should take. After each, the repository is what it was.

use std::{fs, path::Path};

use posse_workspace::{
    BundleFault, WorkspaceError,
    bundle::{Depot, TakeLimits, take_in},
    git::GitError,
};

use super::{BRANCH, state};
use crate::{Fixture, REPOSITORY, shell};

/// Small enough that trying is quick.
const LIMITS: TakeLimits = TakeLimits {
    bundle_bytes_max: 5_000_000,
    objects_max: 500,
    unpacked_bytes_max: 20_000_000,
    entries_max: 2_000,
};

/// What must be said of a bundle.
#[derive(Clone, Copy, Debug)]
enum Says {
    Fault(BundleFault),
    TooLong,
    TooManyObjects,
    NoName,
    NotOurs,
    Exists,
    CheckedOut,
}

impl Says {
    fn fits(self, error: &WorkspaceError) -> bool {
        let WorkspaceError::Git(error) = error else { return false };
        match (self, error) {
            (Self::Fault(expected), GitError::Bundle(fault)) => expected == *fault,
            (Self::TooLong, GitError::Bundle(BundleFault::TooLong { .. }))
            | (Self::TooManyObjects, GitError::Bundle(BundleFault::TooManyObjects { .. }))
            | (Self::NoName, GitError::NoObjectName)
            | (Self::NotOurs, GitError::NotOurs)
            | (Self::Exists, GitError::BranchExists(_))
            | (Self::CheckedOut, GitError::CheckedOut(_)) => true,
            _ => false,
        }
    }
}

use BundleFault::{
    MissingBefore, NotABundle, OtherFormat, PathTooLong, TooManyEntries, TooMuchUnpacked, Unrelated, Unsound,
    WithoutTip,
};

/// How a stranger makes a bundle, by a line of shell in a clone of the repository. `$base` is the commit that the work began
/// at; the line leaves the commit that it sends in `$tip` and the bundle in `$out`. `commit TREE` makes a commit of a tree on
/// top of the base; `send` bundles what leads from the base to the tip; `entry MODE OBJECT NAME` writes one entry of /// it is, `tree` makes a tree of entries, however they are, and `same MODE OBJECT NAMES` one that holds one thing often.
const STRANGERS: &[(&str, Says, &str)] = &[
    ("nothing", Says::Fault(NotABundle), "tip=$base; : > $out"),
    ("garbage", Says::Fault(NotABundle), "tip=$base; head -c 5000 /dev/urandom > $out"),
    (
        "garbage behind a good head",
        Says::Fault(Unsound),
        "good; (head -c 140 $out; head -c 3000 /dev/urandom) > x; mv x $out",
    ),
    ("a truncated one", Says::Fault(Unsound), "good; truncate -s -30 $out"),
    (
        "a bit that changed",
        Says::Fault(Unsound),
        "good; printf xyzxyz | dd of=$out bs=1 seek=260 conv=notrunc status=none",
    ),
    ("a head without an end", Says::Fault(NotABundle), "good; head -c 60 $out > x; mv x $out"),
    ("a link to one", Says::Fault(NotABundle), "good; mv $out $out.real; ln -s $out.real $out"),
    ("a pipe", Says::Fault(NotABundle), "good; rm $out; mkfifo $out"),
    (
        "a partial one",
        Says::Fault(NotABundle),
        "good; (printf '# v3 git bundle\\n@filter=blob:none\\n'; tail -n +2 $out) > x; mv x $out",
    ),
    ("another tip", Says::Fault(WithoutTip), "good; tip=$(git rev-parse HEAD~2)"),
    ("a tip that is not there", Says::Fault(WithoutTip), "good; tip=$(printf '%040d' 7)"),
    ("a tree for a tip", Says::Fault(WithoutTip), "good; tip=$(git rev-parse $tip^{tree})"),
    ("an option for a tip", Says::NoName, "good; tip=--all"),
    ("a name for a tip", Says::NoName, "good; tip=main"),
    ("a tip in the other format", Says::NoName, "good; tip=$(printf '%064d' 7)"),
    (
        "a history of its own",
        Says::Fault(Unrelated),
        "git checkout -q --orphan o; git commit -qm o; tip=$(git rev-parse HEAD); git bundle create -q $out o",
    ),
    (
        "work that began before the base",
        Says::Fault(Unrelated),
        "git checkout -q $base~1; echo x > x; git add x; git commit -qm x; tip=$(git rev-parse HEAD); git branch o; git bundle create -q $out o ^$base~1",
    ),
    (
        "missing commits before",
        Says::Fault(MissingBefore),
        "good; first=$tip; echo y > y; git add y; git commit -qm y; tip=$(git rev-parse HEAD); git branch -f o; git bundle create -q $out o ^$first",
    ),
    (
        "missing commits that it does not name",
        Says::Fault(Unsound),
        "good; first=$tip; echo y > y; git add y; git commit -qm y; tip=$(git rev-parse HEAD); git branch -f o; git bundle create -q $out o ^$first; \
         sed -i \"2s/.*/-$base x/\" $out",
    ),
    (
        "a missing file",
        Says::Fault(Unsound),
        "tree=$(printf '100644 blob %040d\\tx\\n' 7 | git mktree --missing); tip=$(commit $tree); raw $tip $tree",
    ),
    (
        "a missing folder",
        Says::Fault(Unsound),
        "tree=$(printf '040000 tree %040d\\tx\\n' 7 | git mktree --missing); tip=$(commit $tree); raw $tip $tree",
    ),
    ("a path that leads up", Says::Fault(Unsound), "evil 100644 $blob .."),
    ("a folder that leads up", Says::Fault(Unsound), "evil 40000 $folder .."),
    ("a path that stays", Says::Fault(Unsound), "evil 100644 $blob ."),
    ("git's own folder", Says::Fault(Unsound), "evil 40000 $folder .git"),
    ("git's own file", Says::Fault(Unsound), "evil 100644 $blob .git"),
    ("git's own folder in capitals", Says::Fault(Unsound), "evil 40000 $folder .GIT"),
    ("git's own folder as Windows knows it", Says::Fault(Unsound), "evil 40000 $folder git~1"),
    (
        "git's own folder with what cannot be seen",
        Says::Fault(Unsound),
        "evil 40000 $folder \"$(printf '.g\\342\\200\\214it')\"",
    ),
    (
        "git's own folder further down",
        Says::Fault(Unsound),
        "folder=$(entry 40000 $folder .git | tree); evil 40000 $folder dir",
    ),
    ("an absolute path", Says::Fault(Unsound), "evil 100644 $blob /etc/passwd"),
    ("a path in one name", Says::Fault(Unsound), "evil 100644 $blob a/../../b"),
    (
        "no name",
        Says::Fault(Unsound),
        "tree=$(entry 100644 $blob '' | tree); tip=$(commit $tree); raw $tip $tree $blob",
    ),
    (
        "the same name twice",
        Says::Fault(Unsound),
        "tree=$( (entry 120000 $blob x; entry 40000 $folder x) | tree); tip=$(commit $tree); send",
    ),
    (
        "a link and what is behind it",
        Says::Fault(Unsound),
        "tree=$( (entry 40000 $folder x; entry 120000 $blob x) | tree); tip=$(commit $tree); send",
    ),
    (
        "entries out of order",
        Says::Fault(Unsound),
        "tree=$( (entry 100644 $blob b; entry 100644 $blob a) | tree); tip=$(commit $tree); send",
    ),
    ("an entry that is a device", Says::Fault(Unsound), "evil 60644 $blob disk"),
    ("an entry that is for everybody", Says::Fault(Unsound), "evil 100777 $blob x"),
    (
        "an entry that is half a tree",
        Says::Fault(Unsound),
        "tree=$(printf '100644 x' | git hash-object -t tree --literally -w --stdin); tip=$(commit $tree); raw $tip $tree",
    ),
    ("a link for .gitmodules", Says::Fault(Unsound), "evil 120000 $blob .gitmodules"),
    (
        "a submodule that is an option",
        Says::Fault(Unsound),
        "m=$(printf '[submodule \"x\"]\\n\\tpath = x\\n\\turl = --upload-pack=touch\\n' | git hash-object -w --stdin); evil 100644 $m .gitmodules",
    ),
    (
        "a submodule whose name leads up",
        Says::Fault(Unsound),
        "m=$(printf '[submodule \"../../x\"]\\n\\tpath = x\\n\\turl = http://localhost/x\\n' | git hash-object -w --stdin); evil 100644 $m .gitmodules",
    ),
    (
        "a commit without an author",
        Says::Fault(Unsound),
        "tip=$(printf 'tree %s\\nparent %s\\n\\nx\\n' $folder $base | git hash-object -t commit --literally -w --stdin); send",
    ),
    (
        "a long name",
        Says::Fault(PathTooLong { bytes_max: 4096 }),
        "name=$(printf '%0200d' 7); for n in $(seq 25); do folder=$(entry 40000 $folder $name | tree); done; evil 40000 $folder x",
    ),
    (
        "few objects for very many files",
        Says::Fault(TooManyEntries { entries_max: 2_000 }),
        "for n in $(seq 40); do folder=$(same 40000 $folder \"0 1 2 3 4 5 6 7 8 9\"); done; evil 40000 $folder x",
    ),
    (
        "more files than are taken",
        Says::Fault(TooManyEntries { entries_max: 2_000 }),
        "folder=$(same 100644 $blob \"$(seq -w 2500)\"); evil 40000 $folder x",
    ),
    (
        "zeros",
        Says::Fault(TooMuchUnpacked { bytes_max: 20_000_000 }),
        "z=$(head -c 30000000 /dev/zero | git hash-object -w --stdin); evil 100644 $z x",
    ),
    (
        "many zeros",
        Says::Fault(TooMuchUnpacked { bytes_max: 20_000_000 }),
        "for n in 1 2 3 4 5; do (echo $n; head -c 6000000 /dev/zero) > $n; done; git add -A; git commit -qm z; tip=$(git rev-parse HEAD); send",
    ),
    (
        "the same zeros at many places",
        Says::Fault(TooMuchUnpacked { bytes_max: 20_000_000 }),
        "z=$(head -c 1000000 /dev/zero | git hash-object -w --stdin); folder=$(same 100644 $z \"$(seq -w 50)\"); evil 40000 $folder x",
    ),
    (
        "a file of the repository at many places",
        Says::Fault(TooMuchUnpacked { bytes_max: 20_000_000 }),
        "z=$(git rev-parse $base:large); folder=$(same 100644 $z \"$(seq -w 50)\"); evil 40000 $folder x",
    ),
    (
        "many objects",
        Says::TooManyObjects,
        "mkdir many; for n in $(seq 600); do echo $n > many/$n; done; git add -A; git commit -qm many; tip=$(git rev-parse HEAD); send",
    ),
    (
        "a long one",
        Says::TooLong,
        "head -c 6000000 /dev/urandom > x; git add x; git commit -qm x; tip=$(git rev-parse HEAD); send",
    ),
    (
        "a reference as a path that leads up",
        Says::Fault(WithoutTip),
        "good; sed -i 's#refs/heads/sent#../../../HEAD#' $out; tip=$(printf '%040d' 7)",
    ),
    (
        "names in the other format",
        Says::Fault(OtherFormat),
        "good; (printf '# v3 git bundle\\n@object-format=sha256\\n%064d refs/heads/x\\n\\n' 7; git bundle create -q - sent | tail -c 400) > x; printf 'PACK\\0\\0\\0\\2\\0\\0\\0\\1' > y; (head -n 4 x; cat y) > $out",
    ),
];

/// Functions for the lines above.
const TOOLS: &str = r#"
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
escaped() { printf '%s' "$1" | sed 's/../\\x&/g'; }
hex() { printf "$(escaped "$1")"; }
same() { e=$(escaped "$2"); for n in $3; do printf "$1 $n\0$e"; done | tree; }
entry() { printf '%s %s\0' "$1" "$3"; hex "$2"; }
tree() { git hash-object -t tree --literally -w --stdin; }
commit() { printf 'tree %s\nparent %s\nauthor a <a@b> 1700000000 +0000\ncommitter a <a@b> 1700000000 +0000\n\nx\n' "$1" "$base" | git hash-object -t commit --literally -w --stdin; }
send() { git update-ref refs/heads/sent $tip; git bundle create -q $out sent ^$base; }
evil() { tree=$(entry "$1" "$2" "$3" | tree); tip=$(commit $tree); send; }
good() { echo work > work; git add -A; git commit -qm work; tip=$(git rev-parse HEAD); send; }
raw() { (printf -- '# v2 git bundle\n-%s \n%s refs/heads/sent\n\n' $base $1; printf '%s\n' "$@" | git pack-objects --stdout -q) > $out; }
blob=$(echo evil | git hash-object -w --stdin)
folder=$(entry 100644 $blob config | tree)
"#;

struct Victim {
    fixture: Fixture,
    base: String,
}

impl Victim {
    async fn new() -> Self {
        let fixture = Fixture::new(&[("a", "one\n")]);
        let more = "head -c 1000000 /dev/zero > large; git add -A; \
                    for n in 2 3 4; do echo $n > a; git -c user.name=a -c user.email=a@b commit -qam $n; done";
        fixture.run(&format!("{REPOSITORY}; {more}")).await;
        let base = fixture.run("git rev-parse HEAD").await.trim().to_owned();
        Self { fixture, base }
    }

    /// What a stranger makes of a clone; says the commit.
    async fn bundle(&self, line: &str) -> String {
        let made = format!(
            "rm -rf stranger sent.bundle; git clone -q --no-local project stranger 2>/dev/null; cd stranger; base={}; \
             out=$PWD/../sent.bundle; {TOOLS}\n{line}\necho \"tip $tip\"",
            self.base
        );
        let said = shell(self.fixture.outside(), &made).await;
        said.lines().last().unwrap().strip_prefix("tip ").unwrap().to_owned()
    }

    async fn take(&self, tip: &str, branch: &str) -> Result<(), WorkspaceError> {
        let bundle = self.fixture.file("sent.bundle");
        take_in(&self.fixture.at("."), &bundle, &self.base, tip, branch, LIMITS).await
    }
}

#[tokio::test]
async fn hostile_bundles_are_refused_and_nothing_stays() {
    let victim = Victim::new().await;
    let home = victim.fixture.at(".");
    let before = state(&home).await;
    let mut refused = 0;
    for (name, says, line) in STRANGERS {
        let tip = victim.bundle(line).await;
        let taken = victim.take(&tip, BRANCH).await;
        let error = taken.err().unwrap_or_else(|| panic!("{name} was taken"));
        assert!(says.fits(&error), "{name}: {error:?}");
        assert_eq!(state(&home).await, before, "{name}");
        let left = shell(
            victim.fixture.outside(),
            "ls -A | grep -v -e project -e stranger -e sent.bundle -e secret || true",
        );
        assert_eq!(left.await, "", "{name}");
        refused += 1;
    }
    assert_eq!(refused, 54);
    // All tools do work: what is not hostile is taken.
    let tip = victim.bundle("good").await;
    victim.take(&tip, BRANCH).await.unwrap();
    let tip = victim.bundle("evil 100755 $blob plain").await;
    victim.take(&tip, "posse/s1/other").await.unwrap();
    assert_eq!(victim.fixture.run("git show posse/s1/far:work posse/s1/other:plain").await, "work\nevil\n");
}

#[tokio::test]
async fn no_reference_moves_but_the_one_that_was_asked_for() {
    let victim = Victim::new().await;
    let home = victim.fixture.at(".");
    let before = victim.fixture.run("git for-each-ref; cat .git/HEAD").await;
    let line = "good; for r in main other posse/s1/else; do git update-ref refs/heads/$r $tip; done; git tag t; \
                git bundle create -q $out main other posse/s1/else t HEAD ^$base";
    let tip = victim.bundle(line).await;
    let bad = [
        ("main", Says::NotOurs),
        ("posse", Says::NotOurs),
        ("refs/heads/posse/x", Says::NotOurs),
        ("posse/../main", Says::NotOurs),
        ("posse/x.lock", Says::NotOurs),
    ];
    for (branch, says) in bad {
        let error = victim.take(&tip, branch).await.unwrap_err();
        assert!(says.fits(&error), "{branch}: {error:?}");
    }
    assert_eq!(victim.fixture.run("git for-each-ref; cat .git/HEAD").await, before);
    // One that is somewhere else, one that has no room for its name, and one that somebody is on.
    let set_up = "c=$(git commit-tree -m x HEAD^{tree}); git branch posse/s1/elsewhere $c; git branch posse/s1/far/x; \
                  git branch posse/file; git worktree add -q ../second -b posse/s1/busy 2>/dev/null";
    let line = format!(
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; {set_up}"
    );
    victim.fixture.run(&line).await;
    let before = state(&home).await;
    let bad = [
        ("posse/s1/elsewhere", Says::Exists),
        ("posse/s1/far", Says::Exists),
        ("posse/file/x", Says::Exists),
        ("posse/s1/busy", Says::CheckedOut),
    ];
    for (branch, says) in bad {
        let error = victim.take(&tip, branch).await.unwrap_err();
        assert!(says.fits(&error), "{branch}: {error:?}");
        assert_eq!(state(&home).await, before, "{branch}");
    }
    // One that is on the way to it is moved.
    victim.fixture.run("git branch posse/s1/behind HEAD~1").await;
    let before = victim.fixture.run("git for-each-ref | grep -v behind").await;
    victim.take(&tip, "posse/s1/behind").await.unwrap();
    assert_eq!(victim.fixture.run("git rev-parse posse/s1/behind").await.trim(), tip);
    assert_eq!(victim.fixture.run("git for-each-ref | grep -v behind").await, before);
}

#[tokio::test]
async fn a_worker_trusts_no_bundle_either() {
    let victim = Victim::new().await;
    let folder = victim.fixture.file("depot");
    let depot = Depot::open(&folder, false).await.unwrap();
    let repository = folder.join("repository");
    let whole = "rm -f $out; git update-ref refs/heads/sent $tip; git bundle create -q $out sent";
    let cases = [
        ("garbage", Says::Fault(NotABundle), "tip=$base; head -c 5000 /dev/urandom > $out"),
        ("another commit", Says::Fault(WithoutTip), "good; WHOLE; tip=$(printf '%040d' 7)"),
        ("a thin one", Says::Fault(MissingBefore), "good"),
        ("git's own folder", Says::Fault(Unsound), "evil 40000 $folder .git; WHOLE"),
        ("a path that leads up", Says::Fault(Unsound), "evil 100644 $blob ..; WHOLE"),
        (
            "few objects for very many files",
            Says::Fault(TooManyEntries { entries_max: 2_000 }),
            "for n in $(seq 40); do folder=$(same 40000 $folder \"0 1 2 3 4 5 6 7 8 9\"); done; \
             evil 40000 $folder x; WHOLE",
        ),
        (
            "a file at many places",
            Says::Fault(TooMuchUnpacked { bytes_max: 20_000_000 }),
            "z=$(git rev-parse $base:large); folder=$(same 100644 $z \"$(seq -w 50)\"); \
             evil 40000 $folder x; WHOLE",
        ),
        (
            "half a history",
            Says::Fault(Unsound),
            "good; WHOLE; git rev-list --objects $tip --not $base | cut -c1-40 | \
          git pack-objects --stdout -q > p; (printf '# v2 git bundle\\n%s refs/heads/x\\n\\n' $tip; cat p) > $out",
        ),
    ];
    let before = state(&repository).await;
    let mut refused = 0;
    for (name, says, line) in cases {
        let tip = victim.bundle(&line.replace("WHOLE", whole)).await;
        let taken = depot.receive(&victim.fixture.file("sent.bundle"), &tip, LIMITS).await;
        let error = taken.err().unwrap_or_else(|| panic!("{name} was taken"));
        assert!(says.fits(&error), "{name}: {error:?}");
        assert_eq!(state(&repository).await, before, "{name}");
        assert_eq!(fs::read_dir(folder.join("incoming")).unwrap().count(), 0, "{name}");
        assert!(depot.check_out(&tip, "", "x").await.is_err(), "{name}");
        refused += 1;
    }
    assert_eq!((refused, depot.has().await.unwrap().len()), (8, 0));
    // Old faults of a history that nobody can change are no reason.
    let old = "tree=$(printf '040000 dir\\0' | cat - <(hex $folder) | tree); base=$(printf 'tree %s\\nauthor <> 1 +000\\ncommitter a <a@b> 1 +0000\\n\\nx\\n' \
               $tree | git hash-object -t commit --literally -w --stdin); good_tree=$(entry 100644 $blob x | tree); tip=$(commit $good_tree); WHOLE";
    let tip = victim.bundle(&old.replace("WHOLE", whole)).await;
    depot.receive(&victim.fixture.file("sent.bundle"), &tip, LIMITS).await.unwrap();
    let checkout = depot.check_out(&tip, "", "x").await.unwrap();
    assert!(Path::new(&checkout.folder).join("x").exists());
}
