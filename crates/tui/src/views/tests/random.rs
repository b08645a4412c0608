//! Whatever is pressed on whatever screen: nothing panics, and every row fits.

use posse_engine::{ChangePreview, ChangeRequest};
use proptest::prelude::*;

use super::sample::{fleet, id, session, written};
use super::*;
use crate::effect::{ChatEffect, ChatFound, ChatQuery, OnTerminal};
use crate::views::{Pager, Picker, WorkView};

fn some_view(number: usize) -> FullScreen {
    let strange = ["", "plain", "wide 日本語 text", "e\u{301}\u{1b}[2J\u{202e}", &"long ".repeat(60)];
    let lines = strange.iter().cycle().take(40).map(|text| TextLine::plain(text)).collect();
    match number {
        0 => FullScreen::Pager(Pager::new("日本\u{1b}[31m", lines)),
        1 => FullScreen::Picker(Picker::sessions("a")),
        2 => FullScreen::Picker(Picker::models(&[], None)),
        3 => FullScreen::Picker(Picker::turns(session())),
        4 => FullScreen::of_found(&ChatFound::Events(session(), None, written().events)).unwrap(),
        _ => FullScreen::Work(WorkView::new(session())),
    }
}

fn some_key() -> impl Strategy<Value = Key> {
    let codes = vec![
        KeyCode::Enter,
        KeyCode::Escape,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::Tab,
        KeyCode::Backspace,
        KeyCode::Delete,
    ];
    let chars = "jkgGnNrmxdugcfby?/q日e\u{301} 1".chars().map(KeyCode::Char);
    let codes: Vec<_> = codes.into_iter().chain(chars).collect();
    let modifier = prop::sample::select(vec![0, 0, 0, 0, 0, 1, 2]);
    (prop::sample::select(codes), modifier).prop_map(|(code, modifier)| match modifier {
        1 => Key::new(code).with_ctrl(),
        2 => Key::new(code).with_alt(),
        _ => Key::new(code),
    })
}

/// Answers what a view asks for, as the record would.
fn answer(view: &mut FullScreen, effects: Vec<ChatEffect>) {
    let mut left = effects;
    for _ in 0..4 {
        let asked = left.drain(..).filter_map(|effect| match effect {
            ChatEffect::Query(ChatQuery::Events { session, agent }) => {
                Some(ChatFound::Events(session, agent, written().events))
            }
            ChatEffect::Query(ChatQuery::Diff(name)) => Some(ChatFound::Diff(name, "+a\n-b\n".to_owned())),
            ChatEffect::Query(ChatQuery::Preview(request)) => Some(found_preview(request)),
            _ => None,
        });
        let asked: Vec<_> = asked.collect();
        left = asked.into_iter().flat_map(|found| view.found(found)).collect();
    }
}

fn found_preview(request: ChangeRequest) -> ChatFound {
    let (what, diff) = ("a change".to_owned(), "+a\n".repeat(50));
    let (conflicts, not_certain, not_covered) = (Vec::new(), Vec::new(), Vec::new());
    let changes = Vec::new();
    let preview = ChangePreview { what, changes, diff, conflicts, not_certain, not_covered };
    ChatFound::Preview(request, Box::new(preview))
}

#[test]
fn some_keys_do_the_same_in_every_view() {
    for number in 0..6 {
        let mut view = some_view(number);
        let suspend = ChatEffect::OnTerminal(OnTerminal::Suspend);
        assert_eq!(press(&mut view, None, "<^l>"), ViewStep::Do(vec![ChatEffect::Redraw]));
        assert_eq!(press(&mut view, None, "<^z>"), ViewStep::Do(vec![suspend]));
        assert_eq!(press(&mut view, None, "/<^c>"), ViewStep::Close);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_row_fits(
        number in 0..6_usize,
        pressed in prop::collection::vec((some_key(), 0..24_usize), 1..60),
    ) {
        let mut view = some_view(number);
        let of = fleet(20).view();
        view.found(ChatFound::Events(session(), Some(id(1)), written().events));
        let sizes = [(1, 1), (2, 1), (1, 9), (3, 3), (7, 2), (20, 5), (40, 16), (80, 24), (119, 30), (200, 50)];
        let mut size = (80, 24);
        for (key, resized) in pressed {
            size = sizes.get(resized).copied().unwrap_or(size);
            if let ViewStep::Do(effects) = view.key(&key, Some(&of), size, SEEN_AT) {
                answer(&mut view, effects);
            }
            checked_rows(&view, Some(&of), size);
            checked_rows(&view, None, size);
        }
        let wanted = view.paste("pasted\nwords\u{1b}[2J");
        answer(&mut view, wanted);
        checked_rows(&view, Some(&of), size);
    }
}
