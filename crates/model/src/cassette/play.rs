//! Playing a cassette: finding the exchange whose request is the one at hand.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use posse_protocol::Reply;

use super::log::{Head, hash_of};
use super::recorded::Recorded;
use super::times::without_times;
use super::{CassetteError, Exchange, Header, Matching, MessageLog, diff};
use crate::limits;

/// A cassette in memory. Many agents may play it at the same time.
#[derive(Debug)]
pub(crate) struct Player {
    path: PathBuf,
    matching: Matching,
    pub(super) recorded: Vec<Recorded>,
    by_request: HashMap<(u64, u64), Vec<usize>>,
}

impl Player {
    pub(crate) fn open(path: &Path) -> Result<Self, CassetteError> {
        let text = read(path)?;
        let problem =
            |line: usize, problem: String| CassetteError::Line { path: path.to_owned(), line, problem };
        let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
        let (_, first) = lines.next().ok_or_else(|| problem(1, "the file is empty".into()))?;
        let header: Header = serde_json::from_str(first)
            .map_err(|e| problem(1, format!("this is not a cassette's header: {e}")))?;
        if header.posse_cassette != 1 {
            return Err(problem(1, format!("version {} is not known, only 1", header.posse_cassette)));
        }
        let mut player = Self {
            path: path.to_owned(),
            matching: header.matching,
            recorded: Vec::new(),
            by_request: HashMap::new(),
        };
        let mut by_id = HashMap::new();
        for (line, text) in lines.filter(|(_, text)| !text.trim().is_empty()) {
            let exchange: Exchange = serde_json::from_str(text).map_err(|e| problem(line, e.to_string()))?;
            player.add(exchange, &mut by_id).map_err(|what| problem(line, what))?;
        }
        Ok(player)
    }

    fn add(&mut self, exchange: Exchange, by_id: &mut HashMap<u64, usize>) -> Result<(), String> {
        let (head, mut messages, mut hashes) = match exchange.after {
            None => {
                let head = Head::new(exchange.system.unwrap_or_default(), exchange.tools.unwrap_or_default());
                (Arc::new(head), Vec::new(), vec![0])
            }
            Some(id) => {
                let at = by_id
                    .get(&id)
                    .ok_or_else(|| format!("`after` names exchange {id}, which is not above"))?;
                let before = &self.recorded[*at];
                (Arc::clone(&before.head), before.messages.clone(), before.hashes.clone())
            }
        };
        for message in exchange.new.into_iter().map(without_times) {
            hashes.push(hash_of(hashes.last().copied().unwrap_or(0), &message));
            messages.push(Arc::new(message));
        }
        let at = self.recorded.len();
        if by_id.insert(exchange.id, at).is_some() {
            return Err(format!("id {} is there twice", exchange.id));
        }
        let key = self.key(head.hash, hashes.last().copied().unwrap_or(0));
        self.by_request.entry(key).or_default().push(at);
        let played = AtomicBool::new(false);
        self.recorded.push(Recorded {
            id: exchange.id,
            head,
            messages,
            hashes,
            reply: exchange.reply,
            played,
        });
        Ok(())
    }

    fn key(&self, head: u64, messages: u64) -> (u64, u64) {
        match self.matching {
            Matching::Request => (head, messages),
            Matching::Conversation => (0, messages),
        }
    }

    /// The recorded reply to this request, which is thereby used up; or a text that shows the difference.
    pub(crate) fn play(&self, log: &MessageLog) -> Result<&Reply, String> {
        let candidates = self.by_request.get(&self.key(log.head.hash, log.hash()));
        for at in candidates.into_iter().flatten() {
            let recorded = &self.recorded[*at];
            if self.offers_what_is_called(log, &recorded.reply)
                && !recorded.played.swap(true, Ordering::Relaxed)
            {
                return Ok(&recorded.reply);
            }
        }
        let with_head = self.matching == Matching::Request;
        Err(diff::explain(&self.path, &self.recorded, log, with_head))
    }

    fn offers_what_is_called(&self, log: &MessageLog, reply: &Reply) -> bool {
        let offered = |name: &str| log.head.tools.iter().any(|tool| tool.name == name);
        self.matching == Matching::Request || reply.calls.iter().all(|call| offered(&call.name))
    }
}

fn read(path: &Path) -> Result<String, CassetteError> {
    let failed = |source| CassetteError::File { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let mut text = String::new();
    file.take(limits::CASSETTE_BYTES_MAX + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > limits::CASSETTE_BYTES_MAX {
        return Err(CassetteError::TooLarge { path: path.to_owned(), bytes_max: limits::CASSETTE_BYTES_MAX });
    }
    Ok(text)
}
