//! What workers say to one agent: read, fetched where it is long, and taken in. It must not decide who has the agent: the lease does.

use posse_engine::remote::{HomeReply, SeatEvent};

use super::{DoneBeside, REQUEST_BITS, Refused, SeatTask};
use crate::bodies::{Carried, ClaimHave, ItemBody, Passing, RequestBody, read, write};
use crate::fleet::seat_files::Way;
use crate::fleet::seat_items::{Arrived, LetterNeeds, ReadItem};
use crate::fleet::{Letter, SeatNews};
use crate::home_actions::{ClaimRefusal, HomeInput};
use crate::limits;
use crate::message::{LeaseHolder, RawBody, RunDown, RunUp};
use crate::names::{BlobId, WorkerName};
use crate::requests::RequestArrival;

impl SeatTask {
    /// A worker has said something.
    pub(super) async fn heard(&mut self, heard: SeatNews) {
        let SeatNews::Letter(letter) = heard else {
            // Offers and blobs are gone; what was said is said again by the leases.
            return self.input(HomeInput::OfferAgain).await;
        };
        let (courier, holder) = (letter.courier, letter.holder.clone());
        let epoch = self.lease.epoch();
        let current = self.lease.holder() == Some(&holder);
        if current {
            self.courier = Some(courier);
        }
        match &letter.said {
            RunUp::Progress { epoch: of, body } => {
                if current && *of == epoch {
                    self.passing(body).await;
                }
            }
            RunUp::CommandAck { epoch: of, series, upto } => {
                if current && *of == epoch {
                    self.commands.acknowledged(*series, *upto);
                }
            }
            RunUp::Request { epoch: of, id, open_from, body } => {
                if current && self.lease.is_current(&holder, *of) {
                    self.request(*id, *open_from, body, &holder.worker).await;
                }
            }
            RunUp::Claim { .. } if !self.fleet.may_have(&self.wants, &holder.worker) => {
                self.tell_by(courier, &holder, RunDown::Refused(ClaimRefusal::Unknown)).await;
            }
            RunUp::Claim { .. } if self.given_back.rests(&holder.worker, self.fleet.now_ms()) => {
                self.tell_by(courier, &holder, RunDown::Refused(ClaimRefusal::Held)).await;
            }
            RunUp::Items { .. } | RunUp::Final { .. } if self.is_fetching && current => {
                self.later.push_back(letter);
            }
            _ => self.fetch_first(letter).await,
        }
    }

    /// Fetches what a letter of the holder needs, before it counts.
    async fn fetch_first(&mut self, letter: Letter) {
        let needs = LetterNeeds::of(&letter.said, self.lease.taken());
        let needs = needs.filter(|(epoch, _)| self.lease.is_current(&letter.holder, *epoch));
        let Some((_, needs)) = needs else { return self.take_in(letter, Arrived::default()).await };
        let way = Way { courier: letter.courier, worker: letter.holder.worker.clone() };
        let files = self.files.clone();
        self.is_fetching = true;
        self.beside
            .spawn(async move { DoneBeside::Arrived { letter, arrived: needs.arrive(files, way).await } });
    }

    /// If the courier has lost a blob, the worker is told, and says all of it again once the blob is there.
    pub(super) async fn fetched(&mut self, mut letter: Letter, arrived: Result<Arrived, BlobId>) {
        match arrived {
            Ok(arrived) => {
                self.missed = 0;
                arrived.cut(&mut letter.said, self.lease.taken());
                self.take_in(letter, arrived).await;
            }
            Err(blob) if self.missed < limits::BLOBS_MISSED_MAX => {
                self.missed += 1;
                let missing = RunDown::Missing { epoch: self.lease.epoch(), blob };
                self.tell_by(letter.courier, &letter.holder, missing).await;
            }
            Err(blob) => {
                self.no_worker(format!("what it sent cannot be fetched: there is no blob {blob}")).await
            }
        }
    }

    /// Takes in what a worker has said of its lease.
    async fn take_in(&mut self, letter: Letter, arrived: Arrived) {
        let Letter { courier, holder, said, room } = letter;
        let current = self.lease.holder() == Some(&holder);
        match &said {
            RunUp::Claim { have, .. } => self.note_claim(&holder, courier, have),
            RunUp::GiveUp { why } if current => {
                self.given_back.note(&holder.worker, why, self.fleet.now_ms());
            }
            RunUp::Items { .. } if current => self.given_back.works(),
            _ => {}
        }
        (self.arrived, self.room) = (arrived, room.into());
        if let Ok(input) = said.into_lease(holder.clone()) {
            self.letter = Some((holder.clone(), Way { courier, worker: holder.worker }));
            self.input(input).await;
        }
        // What became items holds on to its room until these are on record.
        (self.arrived, self.room) = (Arrived::default(), Vec::new());
        if self.given_back.is_too_often() && !self.lease.is_settled() {
            self.no_worker(self.given_back.reason(0)).await;
        }
    }

    fn note_claim(&mut self, holder: &LeaseHolder, courier: usize, have: &RawBody) {
        let mut have: ClaimHave = read(have).unwrap_or_default();
        have.commits.truncate(limits::COMMITS_TOLD_MAX);
        self.claims.retain(|(known, _, _)| known != holder);
        if self.claims.len() >= limits::CLAIMS_KEPT_MAX {
            self.claims.remove(0);
        }
        self.claims.push((holder.clone(), courier, have));
    }

    pub(super) fn items(&mut self, items: &[RawBody]) -> Result<SeatEvent, Refused> {
        let (mut events, mut all) = (Vec::new(), Vec::new());
        for item in items {
            let ReadItem { item, contents, told_bytes } = match read(item).map_err(Refused)? {
                ItemBody::Here(wire) => ReadItem::of_letter(*wire, item.get().len()).map_err(Refused)?,
                ItemBody::Blob(blob) => self.arrived.next_item(blob).map_err(Refused)?,
            };
            self.told_bytes = self.told_bytes.saturating_add(told_bytes);
            if self.told_bytes > limits::TOLD_BYTES_MAX {
                return Err(Refused(format!("its worker told more than {} bytes", limits::TOLD_BYTES_MAX)));
            }
            events.push(item);
            all.extend(contents);
        }
        Ok(SeatEvent::Items { items: events, contents: all })
    }

    async fn request(&mut self, id: u64, open_from: u64, body: &RawBody, worker: &WorkerName) {
        let epoch = self.lease.epoch();
        match self.answers.arrive(id, open_from) {
            RequestArrival::New => match read::<RequestBody>(body) {
                Ok(RequestBody { after, request }) if id <= u64::from(u32::MAX) => {
                    if body.get().len() > limits::SHORT_LETTER_BYTES_MAX {
                        let Some(room) = self.fleet.asked.try_take(worker, body.get().len()) else {
                            return self
                                .no_worker("its worker asks more than home can hold".to_owned())
                                .await;
                        };
                        self.asked.insert(id, room);
                    }
                    let id = (epoch << REQUEST_BITS) | id;
                    let _ = self.events.send(SeatEvent::Request { id, after, request }).await;
                }
                Ok(_) => {}
                Err(reason) => drop(self.events.send(SeatEvent::NoWorker { reason }).await),
            },
            RequestArrival::Answered(body) => self.tell_holder(RunDown::Reply { epoch, id, body }).await,
            RequestArrival::Forgotten => {
                let reason = "the answer is not kept any more".to_owned();
                if let Some(body) = write(&Carried::Here(HomeReply::Refused { reason })) {
                    self.tell_holder(RunDown::Reply { epoch, id, body }).await;
                }
            }
            RequestArrival::InProgress | RequestArrival::Busy => {}
        }
    }

    async fn passing(&mut self, body: &RawBody) {
        let event = match read(body) {
            Ok(Passing::Show(kind)) => SeatEvent::Progress(kind),
            Ok(Passing::CallOff(id)) if id <= u64::from(u32::MAX) => {
                self.asked.remove(&id);
                SeatEvent::CalledOff { id: (self.lease.epoch() << REQUEST_BITS) | id }
            }
            Ok(Passing::CallOff(_)) | Err(_) => return,
        };
        // It may be lost.
        let _ = self.events.try_send(event);
    }
}
