//! The surface `shell`: the commands of its document and what each comes to.

use posse_protocol::{ContextMode, HandleRead, Task, ToolCall};
use posse_surface::{AgentCommand, Join, Offer, Routed, Shape, Surface, Until, parse_routed, shell_help};
use serde_json::{Value, json};

use crate::{OFFER, background, blocking, call, sizes::shell_tools, strings, task};

/// What a command line comes to.
fn routed(line: &str) -> Result<Routed, String> {
    parse_routed(&call("bash", &json!({"command": line}).to_string()))
}

fn check(cases: &[(&str, &str, AgentCommand)]) {
    for (line, name, command) in cases {
        let expected = Routed { command: command.clone(), name: (*name).to_owned() };
        assert_eq!(routed(line), Ok(expected), "{line}");
    }
}

/// The call of an ordinary tool.
fn run(tool: &str, arguments: &Value) -> AgentCommand {
    AgentCommand::Run(ToolCall { name: tool.into(), ..call(tool, &arguments.to_string()) })
}

fn skill(wish: &str, prompt: &str, title: &str) -> AgentCommand {
    let mut task = Task::new(title, format!("{wish}{prompt}"));
    task.role = Some("skill".into());
    if wish.starts_with("Improve") {
        task.context = ContextMode::Summary;
    }
    AgentCommand::Start { task, join: Join::Blocking, shape: Shape::Text, reuse: true }
}

fn started(role: &str, prompt: &str, change: impl FnOnce(&mut Task)) -> AgentCommand {
    let task = task(prompt, |task| {
        task.role = Some(role.into());
        change(task);
    });
    blocking(task, Shape::Text)
}

#[test]
fn the_examples_of_the_document() {
    let search = "Search for skills that help with this: ";
    let enhance = "Improve skills by what can be learnt from this: ";
    let titled = |role, prompt, title: &str| started(role, prompt, |task| task.title = title.into());
    check(&[
        (
            "task:skill:search --prompt \"code review\" --description \"查询技能\"",
            "task:skill:search",
            skill(search, "code review", "查询技能"),
        ),
        (
            "task:skill:enhance --prompt \"${session-id}\" --description \"增强技能\"",
            "task:skill:enhance",
            skill(enhance, "${session-id}", "增强技能"),
        ),
        (
            "task:explore --prompt \"搜索项目中所有处理用户认证的代码\" --description \"探索认证代码\"",
            "task:explore",
            titled("explore", "搜索项目中所有处理用户认证的代码", "探索认证代码"),
        ),
        (
            "task:general --prompt \"分析项目的错误处理机制\" --description \"分析错误处理\"",
            "task:general",
            titled("general", "分析项目的错误处理机制", "分析错误处理"),
        ),
        // With the comment above it, as the document has them.
        (
            "# 技能搜索\ntask:skill:search --prompt \"code review\" --description \"查询技能\"\n",
            "task:skill:search",
            skill(search, "code review", "查询技能"),
        ),
        (
            "task:skill:search --prompt \"code review\"",
            "task:skill:search",
            skill(search, "code review", "code review"),
        ),
        ("task:explore --prompt \"...\"", "task:explore", started("explore", "...", |_| {})),
        (
            "task:skill:enhance --context fresh --prompt x",
            "task:skill:enhance",
            match skill(enhance, "x", "x") {
                AgentCommand::Start { mut task, join, shape, reuse } => {
                    task.context = ContextMode::Fresh;
                    AgentCommand::Start { task, join, shape, reuse }
                }
                other => other,
            },
        ),
        ("skill:load code-review", "skill:load", run("skill_load", &json!({"key": "code-review"}))),
    ]);
}

#[test]
fn notes_and_skills_are_commands_too() {
    check(&[
        (
            "SKILL:LOAD code-review references/more.md",
            "skill:load",
            run("skill_load", &json!({"key": "code-review", "file": "references/more.md"})),
        ),
        (
            "skill:save notes --description 'When: it is time' --scope user <<'EOF'\n1. Go.\nEOF",
            "skill:save",
            run(
                "skill_save",
                &json!({"description": "When: it is time", "scope": "user", "key": "notes", "body": "1. Go.\n"}),
            ),
        ),
        (
            "remember 'use tabs' --kind decision",
            "remember",
            run("remember", &json!({"kind": "decision", "text": "use tabs"})),
        ),
        (
            "remember use tabs everywhere",
            "remember",
            run("remember", &json!({"text": "use tabs everywhere"})),
        ),
        (
            "recall how tests run --limit 3",
            "recall",
            run("recall", &json!({"limit": 3, "query": "how tests run"})),
        ),
        ("recall", "recall", run("recall", &json!({}))),
    ]);
}

#[test]
fn names_that_are_gone_say_the_new_one() {
    let cases = [
        ("skill:search --prompt x", "task:skill:search"),
        ("skill:enhance --prompt x", "task:skill:enhance"),
    ];
    for (line, new) in cases {
        let said = routed(line).unwrap_err();
        assert!(said.contains(&format!("is called {new} now")), "{said}");
    }
}

#[test]
fn every_option_of_a_task() {
    let all = "task:reviewer --prompt=Go --description 'look at it' --model small --endpoint gpu --name r1 \
               --max-turns 5 --max_tokens 900 --token-budget 20000 --max-time-s 60 --context-file a.rs \
               --context-file=b.rs --context summary --success-criteria ok --deliverable out.md \
               --allowed-tools 'read,grep' --background";
    let expected = task("Go", |task| {
        task.role = Some("reviewer".into());
        task.title = "look at it".into();
        task.model = Some("small".into());
        task.endpoint = Some("gpu".into());
        task.name = Some("r1".into());
        task.budget.turns = Some(5);
        task.budget.tokens = Some(20_000);
        task.budget.time_ms = Some(60_000);
        task.max_output_tokens = Some(900);
        task.context_files = strings(&["a.rs", "b.rs"]);
        task.context = posse_protocol::ContextMode::Summary;
        task.success_criteria = Some("ok".into());
        task.deliverables = strings(&["out.md"]);
        task.allowed_tools = Some(strings(&["read", "grep"]));
    });
    check(&[(all, "task:reviewer", background(expected))]);
    let turns = || started("explore", "Go", |task| task.budget.turns = Some(5));
    check(&[
        ("task:explore --prompt Go --max-turns 5", "task:explore", turns()),
        ("task:explore --prompt Go --max_turns=5", "task:explore", turns()),
        ("task:explore --max-turns 5 Go", "task:explore", turns()),
        ("TASK:Explore --prompt Go --maxTurns 5", "task:explore", turns()),
        ("task:explore -p Go --max-turns 5", "task:explore", turns()),
        ("task:explore -pGo -d Go --max-turns 5", "task:explore", turns()),
        ("task:explore \\\n  --prompt Go \\\n  --max-turns 5\n", "task:explore", turns()),
    ]);
}

#[test]
fn long_prompts() {
    let prompt = "Look at \"x\" and 'y';\nthen `z` | $(w)\n";
    let here = format!("task:explore --description look <<'EOF'\n{prompt}EOF\n");
    let expected = |prompt: &str| started("explore", prompt, |task| task.title = "look".into());
    check(&[(here.as_str(), "task:explore", expected(prompt))]);
    let cat = format!("task:explore --description look --prompt \"$(cat <<'EOF'\n{prompt}EOF\n)\"");
    check(&[(cat.as_str(), "task:explore", expected(prompt.trim_end()))]);
    let quoted = "task:explore --description look --prompt 'one\ntwo; three | four'";
    check(&[(quoted, "task:explore", expected("one\ntwo; three | four"))]);
}

#[test]
fn agents_and_handles() {
    let wait = |agents: &[&str], until, timeout_ms| AgentCommand::Wait {
        agents: strings(agents),
        until,
        timeout_ms,
    };
    let message = |interrupt| AgentCommand::Message { agent: "a".into(), text: "go on".into(), interrupt };
    let read = |read| AgentCommand::Read { handle: "h1".into(), read };
    check(&[
        ("task:wait", "task:wait", wait(&[], Until::All, None)),
        ("task:wait a b --timeout-s 5", "task:wait", wait(&["a", "b"], Until::All, Some(5_000))),
        ("task:wait --any a b", "task:wait", wait(&["a", "b"], Until::Any, None)),
        ("task:wait --until any", "task:wait", wait(&[], Until::Any, None)),
        ("task:wait --all", "task:wait", wait(&[], Until::All, None)),
        ("task:status", "task:status", AgentCommand::Status { agent: None, page: 1 }),
        ("task:status a --page 2", "task:status", AgentCommand::Status { agent: Some("a".into()), page: 2 }),
        ("task:message a 'go on'", "task:message", message(false)),
        ("task:message a --message 'go on' --interrupt", "task:message", message(true)),
        (
            "task:message a <<EOF\ngo on\nEOF",
            "task:message",
            AgentCommand::Message { agent: "a".into(), text: "go on\n".into(), interrupt: false },
        ),
        ("task:cancel a", "task:cancel", AgentCommand::Cancel { agent: "a".into() }),
        ("task:close a", "task:close", AgentCommand::Close { agent: "a".into() }),
        (
            "handle:read h1 --offset 5 --length 9",
            "handle:read",
            read(HandleRead::Slice { offset: 5, length: 9 }),
        ),
        ("handle:read h1 --from 5 --to 9", "handle:read", read(HandleRead::Lines { from: 5, to: 9 })),
        ("handle:read h1 --count", "handle:read", read(HandleRead::Count)),
        ("handle:read h1 --jsonpath '$.a'", "handle:read", read(HandleRead::JsonPath("$.a".into()))),
    ]);
}

#[test]
fn reads_and_writes() {
    let cases = [
        ("read src/a.rs", "read", run("read_file", &json!({"path": "src/a.rs"}))),
        (
            "read 'a b.rs' --offset 5 --limit 9",
            "read",
            run("read_file", &json!({"start_line": 5, "limit": 9, "path": "a b.rs"})),
        ),
        ("read --path a.rs", "read", run("read_file", &json!({"path": "a.rs"}))),
        (
            "write a.md --content 'x; y | $z'",
            "write",
            run("write_file", &json!({"content": "x; y | $z", "path": "a.md"})),
        ),
        (
            "write a.md --content \"costs $5 `now`\"",
            "write",
            run("write_file", &json!({"content": "costs $5 `now`", "path": "a.md"})),
        ),
        ("write a.md --content ''", "write", run("write_file", &json!({"content": "", "path": "a.md"}))),
        ("write a.md 'x y'", "write", run("write_file", &json!({"path": "a.md", "content": "x y"}))),
        ("write a.md ''", "write", run("write_file", &json!({"path": "a.md", "content": ""}))),
        ("Write 'a b.md' x", "write", run("write_file", &json!({"path": "a b.md", "content": "x"}))),
        (
            "write a.md <<'EOF'\n# \"A\"\n$x && y\nEOF",
            "write",
            run("write_file", &json!({"path": "a.md", "content": "# \"A\"\n$x && y\n"})),
        ),
        (
            "write a.md <<-END\n\tone\n\tEND\n",
            "write",
            run("write_file", &json!({"path": "a.md", "content": "one\n"})),
        ),
        (
            "write a.md << \"EOF\"\r\none\r\nEOF\r\n",
            "write",
            run("write_file", &json!({"path": "a.md", "content": "one\r\n"})),
        ),
        (
            "write a.md --content \"$(cat <<'EOF'\nsay \"x\"\nEOF\n)\"",
            "write",
            run("write_file", &json!({"content": "say \"x\"", "path": "a.md"})),
        ),
    ];
    assert_eq!(cases.len(), 13);
    check(&cases);
}

#[test]
fn edits_take_plain_words() {
    check(&[
        (
            "edit a.rs 'x y' z",
            "edit",
            run("edit_file", &json!({"path": "a.rs", "old_text": "x y", "new_text": "z"})),
        ),
        (
            "edit a.rs x '' --all",
            "edit",
            run("edit_file", &json!({"replace_all": true, "path": "a.rs", "old_text": "x", "new_text": ""})),
        ),
        (
            "edit a.rs -- -x --y",
            "edit",
            run("edit_file", &json!({"path": "a.rs", "old_text": "-x", "new_text": "--y"})),
        ),
    ]);
}

#[test]
fn edits_searches_and_lists() {
    let cases = [
        (
            "edit a.rs --old x --new y",
            "edit",
            run("edit_file", &json!({"old_text": "x", "new_text": "y", "path": "a.rs"})),
        ),
        (
            "edit a.rs --old-text x --new-text '' --all",
            "edit",
            run("edit_file", &json!({"old_text": "x", "new_text": "", "replace_all": true, "path": "a.rs"})),
        ),
        (
            "edit a.rs --old x <<'EOF'\ny\nz\nEOF",
            "edit",
            run("edit_file", &json!({"old_text": "x", "path": "a.rs", "new_text": "y\nz"})),
        ),
        (
            "edit a.rs <<'EOF'\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\nEOF",
            "edit",
            run("edit_file", &json!({"path": "a.rs", "old_text": "x", "new_text": "y"})),
        ),
        (
            "edit a.rs <<'EOF'\nx\n=======\ny\nEOF",
            "edit",
            run("edit_file", &json!({"path": "a.rs", "old_text": "x", "new_text": "y"})),
        ),
        ("glob **/*.rs", "glob", run("glob", &json!({"pattern": "**/*.rs"}))),
        ("glob '*.rs' --path src", "glob", run("glob", &json!({"path": "src", "pattern": "*.rs"}))),
        ("glob '*.rs' src", "glob", run("glob", &json!({"pattern": "*.rs", "path": "src"}))),
        ("grep 'fn main' src", "grep", run("grep", &json!({"pattern": "fn main", "path": "src"}))),
        ("grep -rn foo .", "grep", run("grep", &json!({"pattern": "foo", "path": "."}))),
        (
            "grep -rni -C3 foo --include='*.rs'",
            "grep",
            run("grep", &json!({"ignore_case": true, "context": 3, "glob": "*.rs", "pattern": "foo"})),
        ),
        ("grep -E 'a|b' src", "grep", run("grep", &json!({"pattern": "a|b", "path": "src"}))),
        ("grep -e -x src", "grep", run("grep", &json!({"pattern": "-x", "path": "src"}))),
        ("grep -- --x src", "grep", run("grep", &json!({"pattern": "--x", "path": "src"}))),
        ("list", "list", run("list_files", &json!({}))),
        ("list src --depth 3", "list", run("list_files", &json!({"depth": 3, "path": "src"}))),
        (
            "todo '[x] read' '[>] write' test '- [ ] ship'",
            "todo",
            run(
                "todo",
                &json!({"items": [
            {"text": "read", "status": "done"}, {"text": "write", "status": "doing"},
            {"text": "test", "status": "pending"}, {"text": "ship", "status": "pending"}]}),
            ),
        ),
        (
            "todo <<EOF\n- [x] read\n\n- [ ] write\nEOF",
            "todo",
            run(
                "todo",
                &json!({"items": [
            {"text": "read", "status": "done"}, {"text": "write", "status": "pending"}]}),
            ),
        ),
        (
            "fetch 'https://example.com/?a=1&b=2'",
            "fetch",
            run("web_fetch", &json!({"url": "https://example.com/?a=1&b=2"})),
        ),
    ];
    assert_eq!(cases.len(), 19);
    check(&cases);
}

#[test]
fn questions_to_the_person() {
    let cases = [
        (
            "ask Which one? --choice 'this, or so' --choice=that",
            "ask",
            run("ask_person", &json!({"choices": ["this, or so", "that"], "question": "Which one?"})),
        ),
        ("ask <<EOF\nWhich one?\nEOF", "ask", run("ask_person", &json!({"question": "Which one?\n"}))),
    ];
    assert_eq!(cases.len(), 2);
    check(&cases);
}

#[test]
fn the_rest_goes_to_the_shell_as_it_is() {
    let line = "  cargo test -p x 2>&1 | tail -5\n";
    let cases = [
        (json!({"command": line}), json!({"command": line})),
        (json!({"command": line, "timeout_ms": 9_000}), json!({"command": line, "timeout_ms": 9_000})),
        (json!({"cmd": line, "timeout": "9000"}), json!({"command": line, "timeout_ms": 9_000})),
        (json!({"script": line, "timeout_s": 9}), json!({"command": line, "timeout_ms": 9_000})),
        (json!({"command": line, "timeout_ms": 0, "description": "Run tests"}), json!({"command": line})),
    ];
    assert_eq!(cases.len(), 5);
    for (arguments, expected) in cases {
        for tool in ["bash", "Bash", "shell"] {
            let got = parse_routed(&call(tool, &arguments.to_string()));
            assert_eq!(
                got,
                Ok(Routed { command: run("shell", &expected), name: "bash".into() }),
                "{arguments}"
            );
        }
    }
    let parsed = Surface::Shell.parse(&call("bash", &json!({"command": line}).to_string()), false);
    assert_eq!(parsed, Ok(run("shell", &json!({"command": line}))));
}

#[test]
fn help_on_each() {
    let names = [
        "task:explore",
        "task:anything",
        "task:skill:search",
        "task:skill:enhance",
        "task:wait",
        "task:status",
        "task:message",
        "task:cancel",
        "task:close",
        "task:merge",
        "skill:load",
        "skill:save",
        "handle:read",
        "read",
        "write",
        "edit",
        "glob",
        "grep",
        "list",
        "todo",
        "ask",
        "remember",
        "recall",
        "fetch",
    ];
    let tools = shell_tools();
    let offer = Offer { shell_tools: &tools, merges: true, ..OFFER };
    let told = |line: &str| match routed(line) {
        Ok(Routed { command: AgentCommand::Help(about), .. }) => shell_help(&offer, about.as_deref()),
        other => panic!("{line}: {other:?}"),
    };
    let mut texts = std::collections::BTreeSet::new();
    for name in names {
        for line in [format!("{name} --help"), format!("{name} -h"), format!("help {name}")] {
            let text = told(&line);
            assert!(text.starts_with("Usage: ") || name == "skill:save", "{line}: {text}");
            texts.insert(text);
        }
    }
    assert_eq!(texts.len(), 22, "one for all roles, one for skills, one each for the others");
    assert!(told("skill:save --help").contains("may not use skill:save"), "only the skill agent has it");
    for (line, begin) in [("help", "task:ROLE --prompt"), ("help cd", "cd is none of these commands.\n")] {
        let all = told(line);
        assert!(all.starts_with(begin) && all.contains("\nRoles:\n- general: "), "{all}");
        assert!(all.ends_with("Anything else is run by the shell. --help after a name tells more."), "{all}");
    }
    // Not help: the prompt is that.
    check(&[("task:explore --prompt --help", "task:explore", started("explore", "--help", |_| {}))]);
}

#[test]
fn errors_say_what_is_accepted() {
    let cases = [
        ("task:explore", "The prompt is missing. Usage: task:ROLE --prompt TEXT"),
        ("task:explore --prompt", "--prompt needs a value. Usage: task:ROLE"),
        ("task:explore --prompt ''", "`prompt` is missing."),
        ("task:explore --promt x", "There is no option --promt. Usage: task:ROLE --prompt TEXT"),
        ("task:explore --prompt x --max-turns many", "--max-turns needs a whole number. Usage"),
        (
            "task:explore --prompt find all of it",
            "\"all\" belongs to nothing; put the whole text into quotes.",
        ),
        (
            "task:explore --prompt x --background=perhaps",
            "--background=perhaps needs no value, or true or false.",
        ),
        ("task:explore --prompt x --context half", "Accepted: fresh, fork, summary, selective."),
        ("task:explore --prompt don't", "A quote is not closed."),
        ("task:explore -x y", "There is no option -x."),
        (
            "task:",
            "There is no command task:. Available: task:ROLE (such as task:explore), task:skill:search,",
        ),
        ("task:skill --prompt x", "There is no command task:skill. Available:"),
        ("task:skill:remove --prompt x", "There is no command task:skill:remove."),
        ("task:a:b --prompt x", "There is no command task:a:b."),
        ("skill:drop x", "There is no command skill:drop. Available:"),
        ("skill:save x", "The description is missing. Usage: skill:save KEY --description WORDS"),
        ("skill:save x --description y", "The body is missing. Usage: skill:save KEY"),
        ("remember", "The text is missing. Usage: remember TEXT"),
        ("remember x --kin y", "There is no option --kin. Usage: remember TEXT"),
        ("skill:load", "The key is missing. Usage: skill:load KEY"),
        ("skill:load a b c", "skill:load was not understood. Usage: skill:load KEY [FILE]"),
        ("handle:read", "The handle is missing. Usage: handle:read HANDLE"),
        ("handle:read h --from 5 --to 2", "`to` (2) is before `from` (5)"),
        ("handle:write h", "There is no command handle:write."),
        ("task:message", "The agent is missing. Usage: task:message NAME TEXT"),
        ("task:message a", "The message is missing. Usage: task:message NAME TEXT"),
        ("task:message a b c", "\"c\" belongs to nothing"),
        ("task:cancel", "The agent is missing."),
        ("task:status a b", "\"b\" belongs to nothing"),
        ("task:wait --timeout-s soon", "--timeout-s needs a whole number."),
        ("read", "The path is missing. Usage: read PATH"),
        ("read a.rs --limit", "--limit needs a value."),
        ("read a.rs --limit few", "--limit needs a whole number."),
        ("write a.rs", "The content is missing. Usage: write PATH TEXT (or <<'EOF')"),
        ("edit a.rs --old x", "The new text is missing. Usage: edit PATH OLD NEW [--all]"),
        ("edit a.rs <<'EOF'\nx\nEOF", "The old text is missing."),
        ("grep", "The pattern is missing. Usage: grep PATTERN [PATH]"),
        ("glob", "The pattern is missing."),
        ("todo", "The items are missing. Usage: todo ITEM…"),
        ("fetch", "The url is missing. Usage: fetch URL"),
        ("fetch https://a https://b", "fetch was not understood. Usage: fetch URL"),
        (
            "fetch https://example.com/?a=1&b=2",
            "fetch must be the only command of its call, without & outside quotes",
        ),
        ("", "`command` is missing."),
    ];
    assert_eq!(cases.len(), 43);
    for (line, part) in cases {
        let said = routed(line).expect_err(line);
        assert!(said.contains(part), "{line}: {said:?} lacks {part:?}");
    }
}

#[test]
fn the_tool_tells_what_there_is() {
    let tools = shell_tools();
    let text = |offer: &Offer<'_>| Surface::Shell.tools(offer).remove(0).description;
    let all = text(&Offer { shell_tools: &tools, ..OFFER });
    let commands = [
        "task:ROLE --prompt",
        "task:skill:search|enhance",
        "skill:load KEY",
        "read PATH",
        "write PATH",
        "edit PATH",
        "glob PATTERN",
        "grep PATTERN",
    ];
    let names = "task:wait, task:status, task:message, task:cancel, task:close";
    assert!(all.contains(&format!("\nWith --help: {names}")), "{all}");
    for name in ["handle:read", "list", "todo", "ask", "remember", "recall", "fetch"] {
        assert!(all.contains(&format!(", {name}")), "{all}");
    }
    for part in commands {
        assert!(all.contains(&format!("\n{part}")), "{all}");
    }
    // What the notes of the document ask for.
    for part in [
        "3-5 words",
        "several at once",
        "report once, to you alone",
        "self-contained",
        "code or research",
        "- explore: ",
    ] {
        assert!(all.contains(part), "{all}");
    }
    assert!(all.contains("\nSkills:\n- notes: Writes notes.\n"), "the skills there are: {all}");
    let little = text(&Offer { may_delegate: false, shell_tools: &tools[..1], ..OFFER });
    assert!(little.contains("Other programs cannot be run") && little.contains("\nread PATH"), "{little}");
    assert!(!little.contains("skill") && !little.contains("remember"), "{little}");
    assert!(!little.contains("task:") && !little.contains("write") && !little.contains("Agents"), "{little}");
}

#[test]
fn an_agent_is_told_only_of_what_it_may_use() {
    let tools = shell_tools();
    let uses = ["all".to_owned(), "all but task:*, edit, write".to_owned()];
    let denied = ["grep", "task:skill:enhance", "task:cancel"];
    let some = Offer { shell_tools: &tools, denied: &denied, uses: &uses, ..OFFER };
    let (text, help) = (Surface::Shell.tools(&some).remove(0).description, shell_help(&some, None));
    for told in [&text, &help] {
        assert!(
            !told.contains("\ngrep ") && !told.contains("enhance") && !told.contains("task:cancel"),
            "{told}"
        );
        assert!(told.contains("task:skill:search --prompt") && told.contains("task:wait"), "{told}");
        assert!(told.contains("- general: Takes on a whole task"), "{told}");
        assert!(
            told.contains("(all)\n- explore: ") && told.contains("(all but task:*, edit, write)\n"),
            "{told}"
        );
    }
    assert!(shell_help(&some, Some("grep")).contains("may not use grep"));
    let alone = Offer { may_delegate: false, shell_tools: &tools[..1], denied: &["bash"], ..OFFER };
    let help = shell_help(&alone, None);
    assert!(help.starts_with("handle:read ") && help.contains("\nread PATH"), "{help}");
    assert!(!help.contains("task:") && !help.contains("write") && !help.contains("Roles"), "{help}");
    assert!(help.ends_with("Other programs cannot be run. --help after a name tells more."), "{help}");
    assert!(shell_help(&alone, Some("task:explore")).contains("may not use task:explore"));
    let roles = &crate::ROLES[..2];
    let no_skill = Surface::Shell.tools(&Offer { roles, shell_tools: &tools, ..OFFER }).remove(0).description;
    assert!(!no_skill.contains("task:skill:"), "{no_skill}");
}
