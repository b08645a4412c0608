//! What a command that destroys something would reach.

use posse_policy::{Target, reach};

fn path(path: &str) -> Target {
    Target::Path { path: path.to_owned(), follows: true }
}

fn itself(path: &str) -> Target {
    Target::Path { path: path.to_owned(), follows: false }
}

fn tracked(path: &str) -> Target {
    Target::Tracked(path.to_owned())
}

fn into(place: &str, names: &[&str]) -> Target {
    Target::Into { place: place.to_owned(), names: names.iter().map(|name| (*name).to_owned()).collect() }
}

#[test]
fn targets_are_what_is_written_and_nothing_else() {
    use Target::{Anything, Elsewhere, History, Known};
    let cases: &[(&str, &[Target])] = &[
        ("rm -rf a 'b c'", &[itself("a"), itself("b c")]),
        ("rm -- -f", &[itself("-f")]),
        ("rm a$x", &[Anything]),
        ("rm ~/a", &[Anything]),
        ("rm '~'x", &[Anything]),
        ("rm *.o", &[itself("\u{3}.o")]),
        ("rm ../*", &[Anything]),
        ("rm /proc/self/cwd/a", &[Anything]),
        ("fd -x rm", &[Anything]),
        ("echo \"$x\" > a", &[path("a")]),
        ("echo x > \"$x\"", &[Anything]),
        ("echo x > /dev/null", &[]),
        ("sed -i \"s/$a/b/\" f g", &[path("f"), path("g")]),
        ("sed -i -e s/a/b/ -e s/c/d/ f", &[path("f")]),
        ("sed -i s/a/b/", &[Anything]),
        ("perl -pi -e 's/a/b/' f", &[path("f")]),
        ("awk -i inplace '{print}' f", &[path("f")]),
        ("dd if=a of=b", &[path("b")]),
        ("cp a b", &[into("b", &["a"])]),
        ("cp x/a y/b c", &[into("c", &["a", "b"])]),
        ("cp -t c x/a", &[into("c", &["a"])]),
        ("cp -r a/ c", &[path("c")]),
        ("cp -r a/. c", &[path("c")]),
        ("cp $x c", &[path("c")]),
        ("mv a b", &[itself("a"), into("b", &["a"])]),
        ("scp a host:b", &[Elsewhere]),
        ("rsync -a a/ b/", &[path("b/")]),
        ("rsync rsync://host/x", &[]),
        ("rsync -a a/ host:b/", &[Elsewhere]),
        ("tar xf a.tar", &[path(".")]),
        ("tar -xf a.tar -C b", &[path("b")]),
        ("tar czf a.tgz b", &[path("a.tgz")]),
        ("find a b -name x -delete", &[path("a"), path("b")]),
        ("find -delete", &[path(".")]),
        ("find a -exec rm {} \\;", &[path("a")]),
        ("find a -type f | sort | xargs rm", &[path("a")]),
        ("find a | sed s/a/b/ | xargs rm", &[Anything]),
        ("echo a | xargs rm", &[Anything]),
        ("ls a | xargs rm", &[Anything]),
        ("grep -rl x a | xargs sed -i s/x/y/", &[path("a")]),
        ("grep -rl x | xargs rm", &[Anything]),
        ("git ls-files | xargs rm", &[tracked("")]),
        ("git ls-files -o | xargs rm", &[Anything]),
        ("git reset --hard", &[tracked(""), History]),
        ("git checkout -- a", &[tracked("a")]),
        ("git clean -fd", &[Known(".".to_owned())]),
        ("git clean -fdx", &[itself(".")]),
        ("git clean -fdx a", &[itself("a")]),
        ("git clean -fdx -e a", &[itself(".")]),
        ("git stash -a", &[Anything]),
        ("git -C a reset --hard", &[Anything]),
        ("git branch -D a", &[History]),
        ("git push -f", &[Elsewhere]),
        ("git $x", &[Anything]),
        ("docker rm a", &[Elsewhere]),
        ("psql -c 'drop table a'", &[Elsewhere]),
        ("sqlite3 a.db 'drop table b'", &[path("a.db"), path("drop table b")]),
        ("$x a", &[Anything]),
        ("rm 'a", &[Anything]),
        ("ls a", &[]),
    ];
    let wrong = cases.iter().filter(|(command, targets)| reach(command).targets != *targets);
    let wrong: Vec<_> = wrong.map(|(command, _)| (command, reach(command).targets)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(cases.len(), 60);
}

#[test]
fn a_piece_of_program_reaches_what_it_names() {
    let words = |command: &str| match &reach(command).targets[..] {
        [Target::Code { words, removes }] => (words.join(" "), *removes),
        other => panic!("{command}: {other:?}"),
    };
    assert_eq!(words("python3 -c \"open('a/b','w')\""), ("-c open a/b w".to_owned(), false));
    assert_eq!(words("perl -e 'unlink \"a\"'"), ("-e unlink a".to_owned(), true));
    assert!(words("ruby -rfileutils -e 'FileUtils.rm_rf(%q)'").1);
    assert_eq!(reach("python3 -c \"open('$x','w')\"").targets, [Target::Anything]);
    // What lists the names where it runs removes more than it names.
    for lists in ["listdir()", "scandir()", "listdir(os.getcwd())", "walk(os.curdir)"] {
        let command = format!("python3 -c \"import os; [os.remove(f) for f in os.{lists} if f != '.git']\"");
        assert_eq!(reach(&command).targets, [Target::Anything], "{command}");
    }
    assert!(words("python3 -c \"import os; [os.remove(f) for f in os.listdir('a')]\"").1);
}

#[test]
fn where_a_command_is_counts() {
    let cases: &[(&str, &[&str])] = &[
        ("rm a", &[""]),
        ("cd x && rm a", &["x"]),
        ("(cd x; rm a)", &["", "x"]),
        ("cd x; cd y; rm a", &["", "x", "y", "x/y"]),
        ("bash -c 'cd x; rm a'", &["", "x"]),
    ];
    for (command, folders) in cases {
        assert_eq!(reach(command).folders, *folders, "{command}");
    }
    for command in
        ["cd $x && rm a", "cd; rm a", "cd - && rm a", "cd ~/x && rm a", "env -C x rm a", "cd *; rm a"]
    {
        assert_eq!(reach(command).targets, [Target::Anything], "{command}");
    }
    assert_eq!(cases.len(), 5);
}
