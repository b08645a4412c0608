//! Process 1 listens to the calls of the command by which something is named in order to change it, and to those that
//! connect sockets. The kernel stops the caller, asks here, and goes on as it is told.
//!
//! ```text
//! the command ── call ──▶ kernel ── notice ──▶ process 1: whose path is it? protected? whose socket?
//!                           ◀──── answer ────┘   └─ told outside: `Touched`
//! ```
//! What each look is worth:
//! - Paths are told as a hint on whose a change is. They are read from memory that another thread can change.
//! - Protected names are refused by the same look: see `guard.rs`. Where names are guarded, what makes, moves or opens for
//!   writing is then done here, for the caller, so that nobody can exchange a path after the look: see `act.rs`.
//! - Sockets of others are out of reach for everybody: see `sockets.rs`.
//!
//! Where there is no listener to be had, the command cannot make Unix sockets that lead anywhere, and what it touched is
//! not known.

mod act;
mod aside;
mod caller;
mod calls;
mod filter;
mod guard;
mod names;
mod notices;
mod sockets;
mod touches;

use std::{
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::PathBuf,
};

use self::{
    act::{Acts, PermittedCall},
    aside::Aside,
    caller::{Caller, Unknown},
    calls::{CALLS, Does, WatchedCall},
    guard::{NameGuard, PlannedChange},
    names::NamedPath,
    notices::{Listener, Notice, Response},
    sockets::Sockets,
    touches::Touches,
};
pub(crate) use self::{filter::install, sockets::mount_of};
use super::plan::{Plan, PlanMessage};
use crate::Level;

/// What process 1 has to know for it.
pub(crate) struct Watch {
    listener: Option<Listener>,
    /// Whether there was one, and it can look at the command.
    sees: bool,
    level: Level,
    guard: Option<NameGuard>,
    /// Does calls for the command where names are guarded, so that none can be changed after the look.
    acts: Option<Acts>,
    touches: Touches,
    sockets: Sockets,
}

impl Watch {
    /// For a command that has begun. `own_mounts` are those made for it.
    pub(crate) fn new(
        plan: &Plan,
        writable: &[PathBuf],
        own_mounts: Vec<u64>,
        listener: Option<OwnedFd>,
        command: rustix::process::Pid,
    ) -> Self {
        // A system can forbid to look into any process. Then calls pass, and the sockets do not.
        let can_look = || Caller::new(command.as_raw_pid().cast_unsigned()).can_be_looked_into();
        let sees = listener.is_some() && can_look();
        let guard = plan.guard_names && plan.level == Level::Full;
        let aside = Aside::default();
        let acts = guard && sees && notices::callers_are_patient();
        Self {
            sees,
            listener: listener.map(Listener::new),
            level: plan.level,
            guard: guard.then(|| NameGuard::new(plan)),
            touches: Touches::new(plan.workspace()),
            acts: acts.then(|| Acts::new(writable, aside.clone())),
            sockets: Sockets::new(own_mounts, writable.to_vec(), !plan.network, aside),
        }
    }

    /// Readable when a call waits.
    pub(crate) fn waits(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().map(AsFd::as_fd)
    }

    /// Nobody is left who could make a call.
    pub(crate) fn nobody_left(&mut self) {
        self.listener = None;
    }

    /// Whether there is something that the outside was not told yet.
    pub(crate) fn has_news(&self) -> bool {
        self.touches.has_news()
    }

    /// Tells the outside what was touched.
    pub(crate) fn tell(&mut self, line: &UnixStream) {
        self.touches.tell(line);
    }

    /// Tells the rest. Only at level full does anything of what was touched remain.
    pub(crate) fn end(mut self, line: &UnixStream) {
        if self.level == Level::Full && !self.sees {
            self.touches.missed();
        }
        self.touches.end(line);
    }

    /// Answers the next call.
    pub(crate) fn serve(&mut self, line: &UnixStream) {
        let Some(listener) = self.listener.clone() else { return };
        // A caller that was killed meanwhile takes its call with it.
        let Ok(notice) = listener.next() else { return };
        let answer = self.judge(&listener, &notice, line);
        listener.answer(notice.id, answer);
        if self.touches.has_much() {
            self.touches.tell(line);
        }
    }

    fn judge(&mut self, listener: &Listener, notice: &Notice, line: &UnixStream) -> Response {
        if !self.sees {
            let sockets = [libc::SYS_connect, libc::SYS_bind].contains(&notice.number);
            return if sockets { Response::Error(libc::EACCES) } else { Response::Continue };
        }
        match notice.number {
            libc::SYS_connect => self.sockets.connect(listener, notice),
            libc::SYS_bind => self.bind(listener, notice, line),
            libc::SYS_umask => {
                self.acts.iter_mut().for_each(|acts| acts.mask_is_set(notice.arguments[0]));
                Response::Continue
            }
            number => match CALLS.iter().find(|call| call.number == number) {
                Some(call) => self.change(listener, notice, call, line),
                None => Response::Error(libc::ENOSYS),
            },
        }
    }

    fn bind(&mut self, listener: &Listener, notice: &Notice, line: &UnixStream) -> Response {
        let Self { sockets, guard, touches, .. } = self;
        let (answer, made) = sockets.bind(listener, notice, |path| {
            let names = [Some(path), None];
            !refused(guard, &PlannedChange { does: Does::Makes, flags: 0, names, target: None }, line)
        });
        if let Some(made) = made {
            touches.wrote(&made);
        }
        answer
    }

    /// A call that names something in order to change it.
    fn change(
        &mut self,
        listener: &Listener,
        notice: &Notice,
        call: &WatchedCall,
        line: &UnixStream,
    ) -> Response {
        let caller = Caller::new(notice.thread);
        let flags = match call.does {
            Does::Opens(at) | Does::Renames(Some(at)) => notice.arguments[at] as libc::c_int,
            _ => 0,
        };
        let opens = matches!(call.does, Does::Opens(_));
        // Nothing is named that way: a place without a right to anything, or a file that has no name yet.
        if opens && (flags & libc::O_PATH != 0 || flags & libc::O_TMPFILE == libc::O_TMPFILE) {
            return Response::Continue;
        }
        let mut named = [NamedPath::default(), NamedPath::default()];
        for (name, found) in call.names.iter().zip(&mut named) {
            match names::find(&caller, notice, call, name, flags) {
                Ok(name) => *found = name,
                Err(Unknown::Fails(number)) => return Response::Error(number),
                Err(Unknown::Nameless) => {}
                // What cannot be looked at is not let pass by those who guard.
                Err(Unknown::OutOfSight(number)) if self.guard.is_some() => return Response::Error(number),
                Err(Unknown::OutOfSight(_)) => self.touches.missed(),
            }
        }
        let target = match call.does {
            Does::Points(at) => match names::target(&caller, notice.arguments[at], named[0].path()) {
                Ok(target) => Some(target),
                Err(number) => return Response::Error(number),
            },
            _ => None,
        };
        let names = [named[0].path(), named[1].path()];
        if names.iter().flatten().any(|path| self.touches.relative(path).is_some()) {
            let deed = PlannedChange { does: call.does, flags, names, target: target.as_ref() };
            if refused(&mut self.guard, &deed, line) {
                return Response::Error(libc::EPERM);
            }
            self.touches.took(call.does, flags, names);
        }
        match &self.acts {
            Some(acts) => acts.act(&PermittedCall {
                listener,
                notice,
                caller: &caller,
                call,
                named: &named,
                target: target.as_ref(),
            }),
            None => Response::Continue,
        }
    }
}

/// Whether the guard has something against it; then that is told.
fn refused(guard: &mut Option<NameGuard>, deed: &PlannedChange<'_>, line: &UnixStream) -> bool {
    let Some(guard) = guard else { return false };
    let Some(path) = guard.refuses(deed) else { return false };
    if let Some(note) = guard.note(&path) {
        PlanMessage::Note(note).tell(line);
    }
    true
}
