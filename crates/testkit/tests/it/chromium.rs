//! The driven browser on pages of a small server.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use posse_testkit::chromium::{Browser, Page};
use posse_testkit::{living_in_group, processes_with};
use serde_json::{Value, json};

use crate::site::{Served, Site};

const FORM: &str = r#"<!doctype html><title>Form</title>
<style>#cover { position: fixed; inset: 0; background: #fff } #far { margin-top: 3000px }</style>
<label for="name">Your name</label> <input id="name"> <textarea id="long" aria-label="Words"></textarea>
<select id="choice" aria-label="Colour"><option value="r">Red</option><option value="b">Blue</option></select>
<div id="edit" contenteditable>old</div>
<button id="send" disabled>Send</button> <button aria-label="Close it">×</button> <p id="said">nothing</p>
<div id="cover">wait</div> <button id="far">Far</button>
<script>
const said = document.querySelector('#said'), log = [];
for (const kind of ['click', 'keydown', 'input', 'change'])
  addEventListener(kind, (e) => { if (e.isTrusted) log.push([kind, e.target.id, e.key ?? '', e.ctrlKey]) });
document.querySelector('#name').oninput = (e) => setTimeout(() => document.querySelector('#send').disabled = !e.target.value);
document.querySelector('#send').onclick = () => said.textContent = 'hello ' + document.querySelector('#name').value;
document.querySelector('[aria-label="Close it"]').onclick = () => said.textContent = 'closed';
document.querySelector('#far').onclick = () => said.textContent = 'far';
setTimeout(() => document.querySelector('#cover').remove(), 100);
</script>"#;

const LOUD: &str = r#"<!doctype html><title>Loud</title><script src="/loud.js"></script>
<script>document.title = 'an inline script ran'</script> <img src="http://elsewhere.invalid/x.png">"#;

const LOUD_JS: &str =
    "console.log('one', 2, {a: 1}, [3]); console.warn('careful'); console.error(new Error('wrong'));
setTimeout(() => { throw new Error('nobody caught me') }); Promise.reject(new Error('rejected'));
fetch('/missing').then(() => alert('read me')).then(() => document.documentElement.id = 'done')";

const LOOKS: &str = r#"<!doctype html><html lang="en"><title>Looks</title><meta name="color-scheme" content="light dark">
<style>:root { --back: #fff; --faint: #999 } body { background: var(--back) }
@media (prefers-color-scheme: dark) { :root { --back: #000; --faint: #999 } .good { color: #fff } }
.faint { color: var(--faint) } .large { font-size: 30px; color: #888 } .half { opacity: .5; color: #555 }
.box { background: oklch(0.3 0.1 250) } .box b { color: rgb(255 255 255 / 90%) } .box i { color: #555 }
input::placeholder { color: #bbb }</style>
<h1 class="good">Heading</h1> <p class="good">fine</p> <p class="faint">faint</p> <p class="large">large</p> <p class="half">half</p>
<div class="box"><b>on blue</b> <i>lost</i></div> <button disabled style="color: #ccc">off</button> <p hidden style="color: #fff">hidden</p>
<input aria-label="Field" placeholder="type here"> <button></button>"#;

const BUSY: &str = r#"<!doctype html><title>Busy</title><button>Work</button><script>
const work = (ms) => { const until = performance.now() + ms; while (performance.now() < until); };
onload = () => requestAnimationFrame(() => setTimeout(() => { work(120); document.body.id = 'begun' }));
document.querySelector('button').onclick = () => { work(30); document.title = 'worked' };
</script>"#;

const CSP: &str =
    "content-security-policy: default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self'\r\n";

static FILES: &[Served] = &[
    ("/favicon.ico", "", ""),
    ("/form", "", FORM),
    ("/loud", CSP, LOUD),
    ("/loud.js", "", LOUD_JS),
    ("/looks", "", LOOKS),
    ("/busy", "", BUSY),
    ("/plain", "", "<!doctype html><title>Plain</title><p>plain</p>"),
];

fn opened(browser: &Browser, site: &Site, path: &str) -> Page {
    let page = browser.page();
    page.open(&site.url(path));
    page
}

/// What a failing step says.
fn failure(step: impl FnOnce()) -> String {
    let problem = catch_unwind(AssertUnwindSafe(step)).expect_err("it should fail");
    problem.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn clicks_and_types_as_a_person_does() {
    let (site, browser) = (Site::start(FILES), Browser::start());
    let page = opened(&browser, &site, "/form");
    // Covered at first; then disabled until there is a name.
    page.click("#name");
    page.type_text("Ada ?ü");
    page.click("text=Send");
    page.wait_for("said.textContent !== 'nothing'", "an answer");
    assert_eq!(page.text("#said"), "hello Ada ?ü");
    page.fill("Your name", "Grace");
    page.click("Send");
    page.wait_for("said.textContent === 'hello Grace'", "another name");
    page.fill("#name", "");
    page.wait_for("document.querySelector('#send').disabled", "nothing to send");
    page.click("Close it");
    page.wait_for("said.textContent === 'closed'", "what the label says");
    page.click("Far");
    page.wait_for("said.textContent === 'far' && scrollY > 1000", "what is below");

    page.fill("Words", "first");
    page.type_text("\nsecond");
    page.press("Control+a");
    page.press("Control+Enter");
    page.fill("Colour", "Blue");
    page.fill("#edit", "new");
    let fields =
        "['#long', '#choice'].map((one) => document.querySelector(one).value).concat(edit.innerText)";
    assert_eq!(page.eval::<Vec<String>>(fields), ["first\nsecond", "b", "new"]);
    assert_eq!(page.eval::<u32>("document.querySelector('#long').selectionEnd"), 12);
    let typed: Vec<Value> = page.eval("log.filter(([kind]) => kind === 'keydown')");
    assert_eq!(typed[..2], [json!(["keydown", "name", "A", false]), json!(["keydown", "name", "d", false])]);
    assert_eq!(typed.last(), Some(&json!(["keydown", "long", "Enter", true])));
}

#[test]
fn scripts_give_values_or_say_what_is_wrong() {
    let (site, browser) = (Site::start(FILES), Browser::start());
    let page = opened(&browser, &site, "/plain");
    assert_eq!(page.eval::<String>("document.title"), "Plain");
    assert_eq!(page.eval::<(u32, Option<bool>)>("[1 + 1, null]"), (2, None));
    assert_eq!(page.eval::<Value>("({a: [1, 'x']})"), json!({"a": [1, "x"]}));
    assert_eq!(page.eval::<f64>("new Promise((done) => setTimeout(() => done(1.5), 5))"), 1.5);
    assert_eq!(page.eval::<String>("(await (await fetch('/plain')).text()).slice(0, 9)"), "<!doctype");
    page.eval::<()>("undefined");
    let cases = [
        ("nowhere.x", "ReferenceError: nowhere is not defined"),
        ("(() => { throw new Error('own words') })()", "Error: own words"),
        ("Promise.reject(new TypeError('late'))", "TypeError: late"),
        ("Promise.reject('only a text')", "only a text"),
        ("1 +", "SyntaxError: Unexpected token"),
        ("'a text'", "not a u32: \"a text\""),
    ];
    assert_eq!(cases.len(), 6);
    for (js, expected) in cases {
        let problem = page.try_eval::<u32>(js).unwrap_err();
        assert!(problem.starts_with(expected), "{js}: {problem}");
    }
    assert!(failure(|| page.eval::<()>("nowhere.x")).contains("nowhere is not defined"));
    assert!(failure(|| page.wait_for("1 +", "sense")).contains("waited for sense: SyntaxError"));

    page.eval::<()>("console.log('a hint')");
    let page = page.patience(Duration::from_millis(1));
    let said = failure(|| page.wait_for("document.querySelector('#no').id === 'no'", "something else"));
    for part in ["waited for something else", "TypeError", "'#no'", "/plain\nplain", "log: a hint"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(failure(|| page.click("Nothing")).contains("nothing on the page is, or says, Nothing"));
    assert!(failure(|| page.press("Ctrl+a")).contains("no key is called Ctrl+a"));
    assert!(failure(|| page.open("http://127.0.0.1:1/")).contains("does not open"));
}

#[test]
fn waiting_outlives_a_new_document() {
    let (site, browser) = (Site::start(FILES), Browser::start());
    let page = opened(&browser, &site, "/form");
    page.eval::<()>("setTimeout(() => location.href = '/plain', 50)");
    page.wait_for("document.title === 'Plain'", "the other document");
    page.eval::<()>("globalThis.kept = true");
    page.open(&site.url("/plain#part"));
    assert!(page.eval::<bool>("kept && location.hash === '#part'"));
    page.reload();
    assert_eq!(
        page.eval::<(String, String)>("[typeof kept, location.hash]"),
        ("undefined".into(), "#part".into())
    );
}

#[test]
fn console_and_requests_are_kept() {
    let (site, browser) = (Site::start(FILES), Browser::start());
    let page = opened(&browser, &site, "/loud");
    page.wait_for("document.documentElement.id === 'done'", "all noise");
    assert_eq!(page.eval::<String>("document.title"), "Loud");
    let console: Vec<String> = page.console().iter().map(ToString::to_string).collect();
    let expected = [
        "log: one 2 Object Array(1)",
        "warning: careful",
        "error: Error: wrong",
        "exception: Error: nobody caught me",
        "exception: Error: rejected",
        "error: Failed to load resource: the server responded with a status of 404 (Not Found)",
        "dialog: read me",
    ];
    for line in expected {
        assert_eq!(console.iter().filter(|one| one.starts_with(line)).count(), 1, "{line}: {console:#?}");
    }
    let refused = |what: &str| {
        console.iter().filter(|one| one.contains("Content Security Policy") && one.contains(what)).count()
    };
    assert_eq!((refused("inline script"), refused("elsewhere.invalid")), (1, 1), "{console:#?}");
    for path in ["/loud", "/loud.js", "/missing"] {
        assert!(page.requests().contains(&site.url(path)), "{path}: {:?}", page.requests());
    }
}

#[test]
fn the_network_can_be_lost() {
    let (site, browser) = (Site::start(FILES), Browser::start());
    let page = opened(&browser, &site, "/plain");
    page.offline(true);
    assert!(page.try_eval::<Value>("fetch('/plain')").unwrap_err().contains("Failed to fetch"));
    assert!(page.eval::<bool>("!navigator.onLine"));
    page.offline(false);
    page.wait_for("navigator.onLine", "the network");
    assert_eq!(page.eval::<u32>("(await fetch('/plain')).status"), 200);
}

#[test]
fn looks_are_checked() {
    let (site, browser) = (Site::start(FILES), Browser::start());
    let page = opened(&browser, &site, "/looks");
    let low = |page: &Page| page.contrast().into_iter().map(|one| one.text).collect::<Vec<_>>();
    page.dark(false);
    assert_eq!(low(&page), ["faint", "half", "lost", "type here"]);
    let faint = page.contrast().remove(0);
    assert_eq!(
        (faint.colours.as_str(), faint.place.as_str(), faint.needed),
        ("#999999 on #ffffff", "p.faint", 4.5)
    );
    assert!((faint.ratio - 2.85).abs() < 0.01, "{faint}");
    page.dark(true);
    assert_eq!(low(&page), ["half", "lost"]);

    let nodes = page.accessibility();
    let has = |role: &str, name: &str| nodes.iter().any(|node| node.role == role && node.name == name);
    assert!(has("heading", "Heading") && has("textbox", "Field") && has("button", "off"), "{nodes:#?}");
    let nameless: Vec<_> = nodes.iter().filter(|node| node.focusable && node.name.is_empty()).collect();
    assert_eq!(nameless.iter().map(|node| node.role.as_str()).collect::<Vec<_>>(), ["button"]);

    let folder = tempfile::tempdir().unwrap();
    for (width, height) in [(360, 640), (1280, 800), (2560, 1440)] {
        page.resize(width, height);
        let path = folder.path().join(format!("{width}.png"));
        page.screenshot(&path);
        let picture = std::fs::read(path).unwrap();
        assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n") && picture.ends_with(b"IEND\xaeB`\x82"));
        assert_eq!(picture[16..24], [width.to_be_bytes(), height.to_be_bytes()].concat());
    }
    assert!(page.metrics()["Nodes"] > 10.0);
}

#[test]
fn long_tasks_are_told() {
    let (site, browser) = (Site::start(FILES), Browser::start());
    let page = opened(&browser, &site, "/busy");
    page.wait_for("document.body.id === 'begun'", "the first work");
    let long = page.long_tasks();
    assert!(long.iter().any(|task| task.duration_ms >= 119.0), "{long:?}");
    // A second tab, so that its tasks could be taken for those of the first.
    let other = opened(&browser, &site, "/plain");
    let tasks = page.main_thread_tasks(|| {
        page.click("Work");
        page.wait_for("document.title === 'worked'", "work");
    });
    assert!(tasks.iter().any(|task| task.duration_ms >= 29.0 && task.cpu_ms.is_some()), "{tasks:?}");
    let idle = other.main_thread_tasks(|| other.eval::<()>("1"));
    assert!(!idle.is_empty());
}

#[test]
fn tabs_share_a_browser() {
    let (site, browser) = (Site::start(FILES), Browser::start());
    let (one, two) = (opened(&browser, &site, "/plain"), opened(&browser, &site, "/form"));
    two.eval::<()>("void (new BroadcastChannel('c').onmessage = (e) => globalThis.got = e.data)");
    one.eval::<()>("void (localStorage.x = 'shared', sessionStorage.x = 'own', new BroadcastChannel('c').postMessage('hi'))");
    two.wait_for("got === 'hi'", "the other tab's message");
    let stored = two.eval::<(String, Option<String>)>("[localStorage.x, sessionStorage.x]");
    assert_eq!(stored, ("shared".to_owned(), None));
    // Neither counts as hidden: both draw, both have the focus.
    for page in [&one, &two] {
        page.eval::<()>("new Promise((done) => requestAnimationFrame(() => done()))");
        assert!(page.eval::<bool>("document.hasFocus() && document.visibilityState === 'visible'"));
    }
    one.close();
    two.click("#name");
    two.type_text("still here");
    assert_eq!(two.eval::<String>("document.querySelector('#name').value"), "still here");

    let titles = std::thread::scope(|threads| {
        let open = || opened(&browser, &site, "/plain").eval::<String>("document.title + localStorage.x");
        let tabs: Vec<_> = (0..10).map(|_| threads.spawn(open)).collect();
        tabs.into_iter().map(|tab| tab.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(titles, ["Plainshared"; 10]);
}

#[test]
fn nothing_is_left_of_a_browser() {
    let browser = Browser::start();
    let page = browser.page();
    let (group, processes) = (browser.group(), browser.processes());
    assert!(processes.len() > 2, "{processes:?}");
    let profile = processes_with("posse-chromium-");
    assert!(processes.iter().any(|id| profile.contains(id)));
    drop(browser);
    assert_eq!(living_in_group(group), [0u32; 0]);
    assert!(page.try_eval::<()>("1").unwrap_err().contains("Chromium has gone"));

    let mut group = 0;
    failure(|| {
        let browser = Browser::start();
        group = browser.group();
        browser.page().eval::<()>("nowhere()");
    });
    assert_ne!(group, 0);
    assert_eq!(living_in_group(group), [0u32; 0]);
}
