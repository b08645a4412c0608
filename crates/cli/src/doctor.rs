//! `posse doctor`: shows what was found of everything a session needs, and what to do about what is missing.

use posse_setup::{DoctorReport, DoctorState, Paths, examine};

use crate::exit::Exit;
use crate::output::{self, Style, counted, visible};

/// Its lines below one another, none of which passes for a finding.
fn lined(text: &str) -> String {
    visible(text).replace('\n', "\n             ")
}

/// The verdict, what was found, and what to type next.
fn told(style: Style, report: &DoctorReport) -> String {
    let (verdict, next) = match report.problems() as u64 {
        0 => {
            let ready = format!("ready: {}", report.ready.join(", "));
            (format!("{} {ready}", style.green("✓")), "try   posse run \"what does this project do?\"")
        }
        n => {
            let things = counted(n, "thing");
            let verdict = format!("{} not ready: {things} to fix, see →", style.red("✗"));
            (verdict, "look  posse demo works without a model")
        }
    };
    let mut text = format!("{verdict}\n\n");
    for finding in &report.findings {
        let (what, found) = (&finding.what, lined(&finding.text));
        text.push_str(&match finding.state {
            DoctorState::Good => format!("{} {what:<10} {found}\n", style.green("✓")),
            DoctorState::Absent => format!("{}\n", style.dim(&format!("· {what:<10} {found}"))),
            DoctorState::Bad => format!("{} {what:<10} {found}\n", style.red("✗")),
        });
        if let Some(advice) = &finding.advice {
            text.push_str(&format!("{:13}→ {}\n", "", lined(advice)));
        }
    }
    format!("{text}\n{}", style.dim(&format!("{next}\n")))
}

pub(crate) async fn run(paths: &Paths, named: Option<&str>, verbose: bool) -> anyhow::Result<Exit> {
    let report = examine(paths, paths.surroundings().folder()?, named, verbose).await;
    output::print(&told(Style::for_stdout(), &report))?;
    Ok(if report.problems() == 0 { Exit::Completed } else { Exit::Failed })
}
