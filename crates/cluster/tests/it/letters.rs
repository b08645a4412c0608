//! Names, messages and their signatures.

use posse_cluster::{
    BlobId, CLUSTER_VERSION, ClaimRefusal, Down, DownBody, LeaseHolder, OwnerName, OwnerSecret, RawBody,
    RunAbout, RunDown, RunId, RunUp, Seal, SealError, TaskOffer, Up, UpBody, Wants, WorkerInfo, WorkerName,
    limits,
};
use posse_protocol::SessionId;
use uuid::Uuid;

use crate::fixture::{agent, labels};

fn raw(text: &str) -> RawBody {
    serde_json::from_str(text).unwrap()
}

fn seal(owner: &str, secret: &str) -> Seal {
    Seal::new(owner.parse().unwrap(), OwnerSecret::new(secret.as_bytes()).unwrap())
}

const SECRET: &str = "a secret of sixteen bytes or more";

fn about() -> RunAbout {
    RunAbout {
        home: "home".parse().unwrap(),
        session: SessionId::from(Uuid::from_u128(1)),
        agent: agent(2),
        run: "run".parse().unwrap(),
    }
}

fn up(body: UpBody) -> Up {
    Up { version: CLUSTER_VERSION, worker: "gpu-1".parse().unwrap(), body }
}

fn down(worker: &str, said: RunDown) -> Down {
    Down::run(worker.parse().unwrap(), about(), said)
}

fn offer() -> TaskOffer {
    TaskOffer {
        version: CLUSTER_VERSION,
        owner: "me".parse().unwrap(),
        home: "home".parse().unwrap(),
        session: SessionId::from(Uuid::from_u128(1)),
        agent: agent(2),
        epoch: 3,
        attempt: 4,
        wants: Wants { name: None, labels: labels(&["gpu"]) },
        needs: raw(r#"{"shell": 1.50}"#),
    }
}

#[test]
fn every_message_survives_its_journey_byte_by_byte() {
    let seal = seal("me", SECRET);
    let body = || raw("{\"b\":1.50,\"a\" : [1e400]}");
    let ups = [
        UpBody::Hello(WorkerInfo {
            labels: labels(&["a", "b"]),
            capacity: 2,
            room: 1,
            program: "0.1.0".to_owned(),
            have: body(),
            drained: true,
            process: "process".parse().unwrap(),
            orders: 3,
        }),
        UpBody::Leaving,
        UpBody::Run { about: about(), said: RunUp::Claim { beat: 1, have: body() } },
        UpBody::Run { about: about(), said: RunUp::Renew { epoch: 1, beat: 2 } },
        UpBody::Run {
            about: about(),
            said: RunUp::Items { epoch: 1, first: 3, items: vec![body(), body()] },
        },
        UpBody::Run {
            about: about(),
            said: RunUp::Final { epoch: 1, after: 4, aside: true, result: body() },
        },
        UpBody::Run { about: about(), said: RunUp::GiveUp { why: "drains".to_owned() } },
        UpBody::Run { about: about(), said: RunUp::Progress { epoch: 1, body: body() } },
        UpBody::Run { about: about(), said: RunUp::Request { epoch: 1, id: 5, open_from: 4, body: body() } },
        UpBody::Run { about: about(), said: RunUp::CommandAck { epoch: 1, series: 9, upto: 6 } },
    ];
    assert_eq!(ups.len(), 10);
    for body in ups {
        let message = up(body);
        let letter = seal.seal_up(&message).unwrap();
        let opened = seal.open_up(&letter, &"gpu-1".parse().unwrap()).unwrap();
        assert_eq!(seal.seal_up(&opened).unwrap(), letter);
        assert_eq!(format!("{opened:?}"), format!("{message:?}"));
    }
    let downs = [
        RunDown::Granted { epoch: 1, beat: 2, recorded: 3, lease_ms: 4, renew_ms: 2, package: body() },
        RunDown::Wait,
        RunDown::Missing { epoch: 1, blob: BlobId::of(b"lost").unwrap() },
        RunDown::Refused(ClaimRefusal::Held),
        RunDown::Renewed { epoch: 1, beat: 2, recorded: 3 },
        RunDown::Ack { epoch: 1, upto: 2, missing: true },
        RunDown::Stale { epoch: 2 },
        RunDown::SettledAck { epoch: 1 },
        RunDown::Command { epoch: 1, series: 9, number: 1, body: body() },
        RunDown::Reply { epoch: 1, id: 1, body: body() },
    ];
    assert_eq!(downs.len(), 10);
    let process: RunId = "process".parse().unwrap();
    let orders = [DownBody::SayHello, DownBody::Drain { drained: true, process, order: 7 }];
    let orders = orders.map(|body| Down { body, ..down("gpu-1", RunDown::Stale { epoch: 1 }) });
    for message in downs.map(|said| down("gpu-1", said)).into_iter().chain(orders) {
        let letter = seal.seal_down(&message).unwrap();
        let opened = seal.open_down(&letter, &"gpu-1".parse().unwrap()).unwrap();
        assert_eq!(seal.seal_down(&opened).unwrap(), letter);
    }
    let letter = seal.seal_offer(&offer()).unwrap();
    assert_eq!(seal.seal_offer(&seal.open_offer(&letter).unwrap()).unwrap(), letter);
    assert_eq!(seal.refused(), 0);
}

#[test]
fn what_was_not_signed_for_us_is_refused_and_counted() {
    let (seal, worker): (Seal, WorkerName) = (seal("me", SECRET), "gpu-1".parse().unwrap());
    let is_bad = |outcome: Result<(), SealError>| matches!(outcome, Err(SealError::BadSignature));
    let up_letter = seal.seal_up(&up(UpBody::Leaving)).unwrap();
    let down_letter = seal.seal_down(&down("gpu-1", RunDown::Stale { epoch: 1 })).unwrap();
    let offer_letter = seal.seal_offer(&offer()).unwrap();
    // Another secret, another owner, the other direction.
    assert!(is_bad(
        super::letters::seal("me", "another secret of some length").open_up(&up_letter, &worker).map(drop)
    ));
    assert!(is_bad(super::letters::seal("you", SECRET).open_up(&up_letter, &worker).map(drop)));
    assert!(is_bad(seal.open_up(&down_letter, &worker).map(drop)));
    assert!(is_bad(seal.open_up(&offer_letter, &worker).map(drop)));
    assert!(is_bad(seal.open_down(&up_letter, &worker).map(drop)));
    assert!(is_bad(seal.open_down(&offer_letter, &worker).map(drop)));
    assert!(is_bad(seal.open_offer(&down_letter).map(drop)));
    // Another worker.
    let other = seal.open_down(&down_letter, &"gpu-2".parse().unwrap());
    assert!(matches!(other, Err(SealError::NotForUs)), "{other:?}");
    // A worker that speaks in the name of another: both have the secret.
    let forged = seal.open_up(&up_letter, &"gpu-2".parse().unwrap());
    assert!(matches!(forged, Err(SealError::NotForUs)), "{forged:?}");
    // Any changed byte, and any shorter letter.
    for at in 0..up_letter.len() {
        let mut changed = up_letter.to_vec();
        changed[at] ^= 1;
        assert!(is_bad(seal.open_up(&changed, &worker).map(drop)), "byte {at}");
        assert!(is_bad(seal.open_up(&up_letter[..at], &worker).map(drop)), "the first {at}");
    }
    // Another version.
    let newer = Up { version: 2, ..up(UpBody::Leaving) };
    let newer = seal.open_up(&seal.seal_up(&newer).unwrap(), &worker);
    assert!(matches!(newer, Err(SealError::OtherVersion(2))), "{newer:?}");
    assert_eq!(seal.refused(), 6 + 2 + 2 * up_letter.len() as u64 + 1 - 1);
}

/// What another version says is not read, but that it is another one, and who says it.
#[test]
fn another_version_is_named_whatever_it_looks_like() {
    let seal = seal("me", SECRET);
    let letter = |owner: &str, payload: &str| {
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, SECRET.as_bytes());
        let signed = format!("posse cluster 1 up\0{owner}\0{payload}");
        [ring::hmac::sign(&key, signed.as_bytes()).as_ref(), payload.as_bytes()].concat()
    };
    let worker: WorkerName = "gpu-1".parse().unwrap();
    let newer = letter("me", r#"{"version": 7, "worker": "gpu-1", "body": {"whistle": true}}"#);
    assert!(matches!(seal.open_up(&newer, &worker), Err(SealError::OtherVersion(7))));
    assert_eq!(seal.other_version(&newer), Some((worker.clone(), 7)));
    let nameless = letter("me", r#"{"version": 7}"#);
    assert!(matches!(seal.open_up(&nameless, &worker), Err(SealError::OtherVersion(7))));
    let broken = letter("me", &format!(r#"{{"version": {CLUSTER_VERSION}, "worker": "gpu-1"}}"#));
    assert!(matches!(seal.open_up(&broken, &worker), Err(SealError::Unreadable(_))));
    let stranger = letter("you", r#"{"version": 7, "worker": "gpu-1"}"#);
    assert!(matches!(seal.open_up(&stranger, &worker), Err(SealError::BadSignature)));
    let own = seal.seal_up(&up(UpBody::Leaving)).unwrap();
    let others = [nameless, broken, stranger, own.to_vec(), b"x".to_vec()];
    assert!(others.iter().all(|letter| seal.other_version(letter).is_none()));
}

#[test]
fn secrets_are_long_enough_and_never_shown() {
    assert!(matches!(OwnerSecret::new(b"short"), Err(SealError::ShortSecret)));
    let shown = format!("{:?}", seal("me", SECRET));
    assert!(!shown.contains("secret of") && shown.contains("OwnerSecret(…)"), "{shown}");
}

#[test]
fn messages_have_a_limit_before_they_are_sent() {
    let seal = seal("me", SECRET);
    let large = raw(&format!("\"{}\"", "x".repeat(limits::MESSAGE_BYTES_MAX)));
    let message = up(UpBody::Run { about: about(), said: RunUp::Progress { epoch: 1, body: large } });
    assert!(matches!(seal.seal_up(&message), Err(SealError::TooLong)));
}

#[test]
fn names_fit_everywhere() {
    for good in ["a", "gpu-1", "A_b-9", &"x".repeat(63)] {
        assert_eq!(good.parse::<OwnerName>().unwrap().as_str(), good);
    }
    for bad in ["", "-a", "a.b", "a b", "a*", "a>", "ä", "a/b", "..", &"x".repeat(64)] {
        assert!(bad.parse::<OwnerName>().is_err(), "{bad}");
    }
    assert!(serde_json::from_str::<WorkerName>("\"a.b\"").is_err());
    assert!("zz".parse::<BlobId>().is_err());
    let (one, two) = (RunId::random().unwrap(), RunId::random().unwrap());
    assert!(one != two && one.as_str().len() == 32);
}

#[test]
fn words_and_leases_match() {
    let holder = LeaseHolder { worker: "gpu-1".parse().unwrap(), run: "run".parse().unwrap() };
    let progress = RunUp::Progress { epoch: 1, body: raw("1") };
    assert!(progress.into_lease(holder.clone()).is_err());
    assert!(RunUp::Claim { beat: 1, have: raw("1") }.into_lease(holder).is_ok());
    assert!(RunDown::Command { epoch: 1, series: 9, number: 1, body: raw("1") }.to_lease().is_none());
    assert!(RunDown::Stale { epoch: 1 }.to_lease().is_some());
}
