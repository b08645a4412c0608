//! Fixture repositories.

use posse_testkit::Fixture;

#[test]
fn a_fixture_is_a_real_repository() {
    let fixture = Fixture::new().file("src/a.py", "print(1)\n").file("README.md", "hello\n").git();
    assert_eq!(fixture.read("src/a.py"), "print(1)\n");
    assert_eq!(fixture.run_git(&["ls-files"]), "README.md\nsrc/a.py\n");
    assert_eq!(fixture.run_git(&["status", "--porcelain"]), "");
}
