//! The view of a session on record.

use posse_engine::Engine;
use posse_engine::record::SessionRow;
use posse_protocol::{AgentState, Event, Update};
use posse_view::{FoldError, Folded, SessionView};

/// What there is to show of a session, as far as it is on record.
pub(crate) async fn view_of(engine: &Engine, session: &SessionRow) -> anyhow::Result<SessionView> {
    let mut view = SessionView::default();
    catch_up(engine, session, &mut view).await?;
    // The row knows whether anybody works on it, even where that could not be put on record.
    if session.status != AgentState::Running && view.seq == session.last_seq {
        view.show_interrupted();
    }
    Ok(view)
}

/// Takes in what is on record after what a view has.
pub(crate) async fn catch_up(
    engine: &Engine,
    session: &SessionRow,
    view: &mut SessionView,
) -> anyhow::Result<()> {
    let mut updates = engine.recorded(session.id, view.seq);
    while let Some(Update::Event(event)) = updates.next().await {
        fold(view, &event)?;
    }
    Ok(())
}

/// Takes in an event as the engine gives it out: in order, and all that can be read. Where one is missing before it, the
/// record is damaged there, and the rest is still worth showing.
pub(crate) fn fold(view: &mut SessionView, event: &Event) -> Result<Folded, FoldError> {
    view.pass_over(event.seq);
    view.fold(event)
}
