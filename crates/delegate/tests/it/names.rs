//! What agents are called, how they are found, and who inherits a name.

use posse_delegate::{Refusal, Request};

use crate::scene::{MAIN, admit, admitted, id, name, refused, request, settle, tree_of};

fn named(number: u64, parent: u64, name: &str) -> Request {
    Request { name: Some(name.to_owned()), ..request(number, parent) }
}

fn of_role(number: u64, role: &str) -> Request {
    Request { role: role.to_owned(), ..request(number, MAIN) }
}

fn following(number: u64, parent: u64, settled: u64) -> Request {
    Request { continues: Some(id(settled)), ..request(number, parent) }
}

#[test]
fn names_are_numbered_by_role() {
    let long = "r".repeat(60);
    let cases = [
        ("explore", "explore-1".to_owned()),
        ("explore", "explore-2".to_owned()),
        ("review", "review-1".to_owned()),
        ("Code Reviewer", "code-reviewer-1".to_owned()),
        ("code.reviewer", "code-reviewer-2".to_owned()),
        ("数据", "agent-1".to_owned()),
        (long.as_str(), format!("{}-1", "r".repeat(30))),
    ];
    let mut tree = tree_of(10);
    let mut number = 0;
    for (role, want) in cases {
        number += 1;
        assert_eq!(admitted(&mut tree, of_role(number, role)).name, want);
    }
    assert_eq!(number, 7);
}

#[test]
fn given_names_are_tidied_checked_and_unique() {
    let taken = |name: &str| Refusal::NameTaken { name: name.to_owned() };
    let (fits, long) = ("n".repeat(40), "n".repeat(41));
    let cases = [
        ("  Auth Tests ", Ok("auth-tests")),
        ("auth-tests", Err(taken("auth-tests"))),
        ("AUTH TESTS", Err(taken("auth-tests"))),
        ("main", Err(taken("main"))),
        ("all", Err(taken("all"))),
        ("general-1", Ok("general-1")),
        ("a_b-9", Ok("a_b-9")),
        ("", Err(Refusal::BadName)),
        ("   ", Err(Refusal::BadName)),
        ("a/b", Err(Refusal::BadName)),
        ("a\nb", Err(Refusal::BadName)),
        ("é", Err(Refusal::BadName)),
        ("general-1~1", Err(Refusal::BadName)),
        (&fits, Ok(&fits)),
        (&long, Err(Refusal::BadName)),
    ];
    let mut tree = tree_of(10);
    let mut number = 0;
    for (given, want) in cases {
        number += 1;
        let got = tree.admit(named(number, MAIN, given)).map(|admission| admission.name);
        assert_eq!(got, want.map(str::to_owned), "{given:?}");
    }
    assert_eq!(number, 15);
    assert_eq!(admitted(&mut tree, request(99, MAIN)).name, "general-2", "past the name that was given");
    assert!(Refusal::BadName.to_string().starts_with("a name has 1 to 40 letters"));
}

#[test]
fn agents_are_found_by_name_and_id() {
    let mut tree = tree_of(10);
    admit(&mut tree, MAIN, [1]);
    admitted(&mut tree, named(2, 1, "deep"));
    // An id with a beginning of its own.
    let apart = "abcdef01-2345-7000-8000-000000000003".parse().unwrap();
    tree.admit(Request { id: apart, ..request(0, MAIN) }).unwrap();
    let whole = id(2).to_string();
    let cases = [
        (MAIN, "general-1", Some(id(1))),
        (MAIN, " General 1 ", Some(id(1))),
        (MAIN, "deep", Some(id(2))),
        (MAIN, &whole, Some(id(2))),
        (MAIN, "abcdef01", Some(apart)),
        (MAIN, "ABCDEF01-23", Some(apart)),
        (MAIN, "abcdef0", None),
        (MAIN, "00000000", None),
        (MAIN, "abcdef01x", None),
        (MAIN, "abcdefé1", None),
        (MAIN, "abcdef01-2345-7000-8000-0000000000031", None),
        (MAIN, "main", None),
        (MAIN, "", None),
        (1, "deep", Some(id(2))),
        (1, "general-1", None),
        (1, "general-2", None),
        (2, "deep", None),
    ];
    let mut count = 0;
    for (by, text, want) in cases {
        assert_eq!(tree.find(id(by), text), want, "{by} {text:?}");
        count += 1;
    }
    assert_eq!(count, 17);
    let peers = ["main", "deep", "general-2", "nobody"].map(|text| tree.find_peer(text));
    assert_eq!(peers, [Some(id(MAIN)), Some(id(2)), Some(apart), None]);
}

#[test]
fn a_follow_up_takes_over_the_name() {
    let mut tree = tree_of(10);
    admitted(&mut tree, named(1, MAIN, "scout"));
    for (old, new) in [(1, 2), (2, 3)] {
        settle(&mut tree, old);
        assert_eq!(admitted(&mut tree, following(new, MAIN, old)).name, "scout");
    }
    assert_eq!([1, 2, 3].map(|number| name(&tree, number)), ["scout~1", "scout~2", "scout"]);
    assert_eq!(tree.find(id(MAIN), "scout"), Some(id(3)));
    assert_eq!(tree.find(id(MAIN), "Scout~1"), Some(id(1)));
    assert_eq!(tree.node(id(3)).unwrap().continues, Some(id(2)));
    assert_eq!(tree.node(id(2)).unwrap().continued_by, Some(id(3)));
}

#[test]
fn a_follow_up_may_have_a_name_of_its_own() {
    let mut tree = tree_of(10);
    admitted(&mut tree, named(1, MAIN, "scout"));
    settle(&mut tree, 1);
    let second = Request { continues: Some(id(1)), ..named(2, MAIN, "guide") };
    assert_eq!(admitted(&mut tree, second).name, "guide");
    settle(&mut tree, 2);
    let third = Request { continues: Some(id(2)), ..named(3, MAIN, "Guide") };
    assert_eq!(admitted(&mut tree, third).name, "guide");
    assert_eq!([1, 2, 3].map(|number| name(&tree, number)), ["scout", "guide~1", "guide"]);
}

#[test]
fn a_conversation_goes_on_once_and_after_its_end() {
    let mut tree = tree_of(10);
    admitted(&mut tree, named(1, MAIN, "scout"));
    let still = refused(&mut tree, following(2, MAIN, 1));
    assert_eq!(still.to_string(), "scout has not ended: send it a message instead");
    settle(&mut tree, 1);
    admitted(&mut tree, following(2, MAIN, 1));
    let again = refused(&mut tree, following(3, MAIN, 1));
    let want = Refusal::FollowedUp { name: "scout~1".to_owned(), successor: "scout".to_owned() };
    assert_eq!(again, want);
    assert_eq!(refused(&mut tree, following(3, MAIN, 77)), Refusal::Unknown { id: id(77).to_string() });
}

#[test]
fn titles_are_cut() {
    let mut tree = tree_of(1);
    admitted(&mut tree, Request { title: "ü".repeat(300), ..request(1, MAIN) });
    assert_eq!(tree.node(id(1)).unwrap().title, "ü".repeat(200));
}
