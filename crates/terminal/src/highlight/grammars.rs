//! What the languages look like that code is shown in: their comments, strings and words, as tables.

/// A kind of string.
#[derive(Debug)]
pub(super) struct StringRule {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// Whether a backslash takes the next character with it.
    pub(super) escapes: bool,
    /// Whether it may go on in the next line.
    pub(super) many_lines: bool,
}

/// What else is special about a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceShape {
    /// Names of functions stand before parentheses, those of types begin with a capital letter.
    Code,
    /// Its names are words like others, and its keywords are written large or small.
    Query,
    /// Lines begin with a name before `:` or `=`.
    Keys,
    /// Lines begin with a keyword.
    Instructions,
    /// Tags in angle brackets.
    Markup,
    /// Lines begin with marks.
    Marks,
    /// Lines that came and went.
    Changes,
}

/// One language.
#[derive(Debug)]
pub(super) struct Grammar {
    /// Its names, separated by spaces; the first is the one that others are told.
    pub(super) names: &'static str,
    /// How its files end, or are called.
    pub(super) files: &'static str,
    pub(super) shape: SourceShape,
    pub(super) line_comments: &'static [&'static str],
    /// How a longer comment begins and ends, and whether it may hold another one.
    pub(super) block_comments: &'static [(&'static str, &'static str, bool)],
    pub(super) strings: &'static [StringRule],
    /// Separated by spaces.
    pub(super) keywords: &'static str,
    /// Characters of words apart from letters, digits and `_`.
    pub(super) word_extra: &'static str,
    /// Whether a quote may begin a lifetime, and `r#"` a string.
    pub(super) is_rust: bool,
}

const NONE: Grammar = Grammar {
    names: "",
    files: "",
    shape: SourceShape::Code,
    line_comments: &[],
    block_comments: &[],
    strings: &[],
    keywords: "",
    word_extra: "",
    is_rust: false,
};

const fn string(open: &'static str, close: &'static str, escapes: bool, many_lines: bool) -> StringRule {
    StringRule { open, close, escapes, many_lines }
}

const C_COMMENTS: &[(&str, &str, bool)] = &[("/*", "*/", false)];
const NESTED_COMMENTS: &[(&str, &str, bool)] = &[("/*", "*/", true)];
const MARKUP_COMMENTS: &[(&str, &str, bool)] = &[("<!--", "-->", false)];
const QUOTED: &[StringRule] = &[string("\"", "\"", true, false), string("'", "'", true, false)];
const TRIPLE: &[StringRule] = &[
    string("\"\"\"", "\"\"\"", true, true),
    string("'''", "'''", true, true),
    string("\"", "\"", true, false),
    string("'", "'", true, false),
];
const TRIPLE_RAW: &[StringRule] = &[
    string("\"\"\"", "\"\"\"", false, true),
    string("\"", "\"", true, false),
    string("'", "'", true, false),
];

/// All languages. More keywords than a language has do no harm where nobody can use them as names.
pub(super) const GRAMMARS: &[Grammar] = &[
    Grammar {
        names: "rust rs",
        files: ".rs .ron",
        line_comments: &["//"],
        block_comments: NESTED_COMMENTS,
        strings: &[string("\"", "\"", true, true)],
        keywords: "as async await break const continue crate dyn else enum extern false fn for gen if impl in let loop \
                   match mod move mut pub ref return self Self static struct super trait true type union unsafe use \
                   where while",
        is_rust: true,
        ..NONE
    },
    Grammar {
        names: "python py python3 pyi",
        files: ".py .pyi",
        line_comments: &["#"],
        strings: TRIPLE,
        keywords: "and as assert async await break case class continue def del elif else except False finally for from \
                   global if import in is lambda match None nonlocal not or pass raise return self True try while with \
                   yield",
        word_extra: "@",
        ..NONE
    },
    Grammar {
        names: "javascript js jsx mjs cjs node",
        files: ".js .jsx .mjs .cjs",
        line_comments: &["//"],
        block_comments: C_COMMENTS,
        strings: SCRIPT_STRINGS,
        keywords: SCRIPT_WORDS,
        word_extra: "$",
        ..NONE
    },
    Grammar {
        names: "typescript ts tsx mts",
        files: ".ts .tsx .mts .cts",
        line_comments: &["//"],
        block_comments: C_COMMENTS,
        strings: SCRIPT_STRINGS,
        keywords: SCRIPT_WORDS,
        word_extra: "$",
        ..NONE
    },
    Grammar {
        names: "go golang",
        files: ".go",
        line_comments: &["//"],
        block_comments: C_COMMENTS,
        strings: &[
            string("`", "`", false, true),
            string("\"", "\"", true, false),
            string("'", "'", true, false),
        ],
        keywords: "any bool break byte case chan const continue default defer else error fallthrough false float32 \
                   float64 for func go goto if import int int32 int64 interface iota map nil package range return rune \
                   select string struct switch true type uint uint32 uint64 var",
        ..NONE
    },
    Grammar {
        names: "c h",
        files: ".c .h",
        line_comments: &["//"],
        block_comments: C_COMMENTS,
        strings: QUOTED,
        keywords: C_WORDS,
        word_extra: "#",
        ..NONE
    },
    Grammar {
        names: "cpp c++ cc cxx hpp objc objective-c",
        files: ".cpp .cc .cxx .hpp .hh .hxx .m .mm .ino",
        line_comments: &["//"],
        block_comments: C_COMMENTS,
        strings: &[
            string("R\"(", ")\"", false, true),
            string("\"", "\"", true, false),
            string("'", "'", true, false),
        ],
        keywords: C_WORDS,
        word_extra: "#",
        ..NONE
    },
    Grammar {
        names: "java groovy scala",
        files: ".java .groovy .gradle .scala",
        line_comments: &["//"],
        block_comments: C_COMMENTS,
        strings: TRIPLE,
        keywords: "abstract assert boolean break byte case catch char class continue def default do double else enum \
                   extends false final finally float for if implements import instanceof int interface long native new \
                   null object override package permits private protected public record return sealed short static \
                   super switch synchronized this throw throws trait transient true try val var void volatile while \
                   yield",
        word_extra: "@",
        ..NONE
    },
    Grammar {
        names: "kotlin kt kts",
        files: ".kt .kts",
        line_comments: &["//"],
        block_comments: NESTED_COMMENTS,
        strings: TRIPLE_RAW,
        keywords: "abstract actual annotation as break by catch class companion const constructor continue crossinline \
                   data do else enum expect external false final finally for fun if import in infix init inline inner \
                   interface internal is it lateinit null object open operator out override package private protected \
                   public reified return sealed super suspend this throw true try typealias val var vararg when where \
                   while",
        word_extra: "@",
        ..NONE
    },
    Grammar {
        names: "csharp cs c#",
        files: ".cs .csx",
        line_comments: &["//"],
        block_comments: C_COMMENTS,
        strings: &[
            string("\"\"\"", "\"\"\"", false, true),
            string("@\"", "\"", false, true),
            string("\"", "\"", true, false),
            string("'", "'", true, false),
        ],
        keywords: "abstract as async await base bool break byte case catch char checked class const continue decimal \
                   default delegate do double else enum event explicit extern false finally fixed float for foreach get \
                   global goto if implicit in init int interface internal is lock long namespace new null object \
                   operator out override params partial private protected public readonly record ref required return \
                   sbyte sealed set short sizeof static string struct switch this throw true try typeof uint ulong \
                   unchecked unsafe ushort using var virtual void volatile when where while with yield",
        word_extra: "#",
        ..NONE
    },
    Grammar {
        names: "ruby rb",
        files: ".rb .rake Gemfile Rakefile .gemspec",
        line_comments: &["#"],
        block_comments: &[("=begin", "=end", false)],
        strings: QUOTED,
        keywords: "alias and attr_accessor attr_reader attr_writer begin break case class def defined? do else elsif end \
                   ensure extend false for if in include module next nil not or private protected public raise redo \
                   require require_relative rescue retry return self super then true undef unless until when while \
                   yield",
        word_extra: "@$?",
        ..NONE
    },
    Grammar {
        names: "php",
        files: ".php",
        line_comments: &["//", "# ", "#!"],
        block_comments: C_COMMENTS,
        strings: QUOTED,
        keywords: "abstract and array as bool break callable case catch class clone const continue declare default do \
                   echo else elseif empty enum extends false final finally float fn for foreach function global goto if \
                   implements include include_once instanceof int interface isset list match mixed namespace new null \
                   or parent print private protected public readonly require require_once return self static string \
                   switch throw trait true try unset use var void while yield",
        word_extra: "$",
        ..NONE
    },
    Grammar {
        names: "swift",
        files: ".swift",
        line_comments: &["//"],
        block_comments: NESTED_COMMENTS,
        strings: TRIPLE,
        keywords: "actor any as associatedtype async await break case catch class continue convenience default defer \
                   deinit didSet do else enum extension fallthrough false fileprivate final for func get guard if import \
                   in indirect init inout internal is lazy let mutating nil nonisolated open operator override private \
                   protocol public repeat required rethrows return self Self set some static struct subscript super \
                   switch throw throws true try typealias unowned var weak where while willSet",
        word_extra: "@#",
        ..NONE
    },
    Grammar {
        names: "shell sh bash zsh fish console shell-session shellscript terminal ksh",
        files: ".sh .bash .zsh .fish .bashrc .zshrc .profile",
        line_comments: &["#"],
        strings: &[
            string("\"", "\"", true, false),
            string("'", "'", false, false),
            string("`", "`", true, false),
        ],
        keywords: "alias break case cd continue declare do done echo elif else esac eval exec exit export false fi for \
                   function if in local printf read readonly return select set shift source sudo then trap true unset \
                   until while",
        word_extra: "$-",
        ..NONE
    },
    Grammar {
        names: "powershell ps1 pwsh",
        files: ".ps1 .psm1",
        shape: SourceShape::Query,
        line_comments: &["#"],
        block_comments: &[("<#", "#>", false)],
        strings: &[string("\"", "\"", false, true), string("'", "'", false, true)],
        keywords: "begin break catch class continue do else elseif end enum exit filter finally for foreach function if \
                   in param process return switch throw trap try until using while",
        word_extra: "$-",
        ..NONE
    },
    Grammar {
        names: "sql postgresql postgres mysql sqlite plsql psql",
        files: ".sql",
        shape: SourceShape::Query,
        line_comments: &["--"],
        block_comments: C_COMMENTS,
        strings: &[
            string("'", "'", false, true),
            string("\"", "\"", false, false),
            string("`", "`", false, false),
        ],
        keywords: "add all alter analyze and any as asc begin between bigint blob boolean by cascade case cast char \
                   check collate column commit conflict constraint create cross current database date decimal default \
                   deferrable delete desc distinct do drop each else end except exists explain false first float for \
                   foreign from full function grant group having if ilike in index inner insert int integer intersect \
                   interval into is join json jsonb key last lateral left like limit materialized natural not nothing \
                   null nulls numeric offset on or order outer over partition pragma primary procedure real recursive \
                   references rename replace returning returns revoke right rollback rows schema select serial set \
                   smallint table temp temporary text then time timestamp to transaction trigger true truncate union \
                   unique update using uuid values varchar view when where window with without",
        ..NONE
    },
    Grammar {
        names: "json jsonc json5 jsonl ndjson",
        files: ".json .jsonc .json5 .jsonl .ndjson .webmanifest",
        shape: SourceShape::Keys,
        line_comments: &["//"],
        block_comments: C_COMMENTS,
        strings: QUOTED,
        keywords: "true false null",
        ..NONE
    },
    Grammar {
        names: "yaml yml",
        files: ".yaml .yml",
        shape: SourceShape::Keys,
        line_comments: &["#"],
        strings: QUOTED,
        keywords: "true false null yes no on off",
        word_extra: "-./",
        ..NONE
    },
    Grammar {
        names: "toml ini cfg conf properties dotenv env editorconfig",
        files: ".toml .ini .cfg .conf .properties .env .editorconfig Cargo.lock .gitconfig",
        shape: SourceShape::Keys,
        line_comments: &["#", ";"],
        strings: TRIPLE,
        keywords: "true false inf nan",
        word_extra: "-.",
        ..NONE
    },
    Grammar {
        names: "html htm xml svg vue svelte xhtml plist",
        files: ".html .htm .xml .svg .vue .svelte .xhtml .plist .xsl .csproj",
        shape: SourceShape::Markup,
        block_comments: MARKUP_COMMENTS,
        strings: &[string("\"", "\"", false, true), string("'", "'", false, true)],
        word_extra: "-:.",
        ..NONE
    },
    Grammar {
        names: "css scss sass less",
        files: ".css .scss .sass .less",
        shape: SourceShape::Keys,
        block_comments: C_COMMENTS,
        strings: QUOTED,
        keywords: "@media @import @font-face @keyframes @supports @layer @use @mixin @include @extend @tailwind @apply \
                   !important from to and not only",
        word_extra: "-@!$",
        ..NONE
    },
    Grammar { names: "diff patch udiff", files: ".diff .patch .rej", shape: SourceShape::Changes, ..NONE },
    Grammar {
        names: "markdown md mdx",
        files: ".md .mdx .markdown",
        shape: SourceShape::Marks,
        block_comments: MARKUP_COMMENTS,
        strings: &[string("```", "```", false, true), string("`", "`", false, false)],
        ..NONE
    },
    Grammar {
        names: "dockerfile docker containerfile",
        files: "Dockerfile Containerfile .dockerfile",
        shape: SourceShape::Instructions,
        line_comments: &["#"],
        strings: QUOTED,
        keywords: "add arg as cmd copy entrypoint env expose from healthcheck label maintainer onbuild run shell \
                   stopsignal user volume workdir",
        word_extra: "$-.",
        ..NONE
    },
    Grammar {
        names: "lua luau",
        files: ".lua .luau",
        line_comments: &["--"],
        block_comments: &[("--[[", "]]", false), ("--[=[", "]=]", false)],
        strings: &[
            string("[[", "]]", false, true),
            string("[=[", "]=]", false, true),
            string("\"", "\"", true, false),
            string("'", "'", true, false),
        ],
        keywords: "and break do else elseif end false for function goto if in local nil not or repeat return self then \
                   true until while",
        ..NONE
    },
    Grammar {
        names: "makefile make mk just justfile",
        files: "Makefile makefile GNUmakefile .mk justfile Justfile",
        shape: SourceShape::Keys,
        line_comments: &["#"],
        strings: QUOTED,
        keywords: "define else endef endif export if ifdef ifeq ifndef ifneq include override unexport vpath",
        word_extra: "-.%$@",
        ..NONE
    },
];

const SCRIPT_STRINGS: &[StringRule] =
    &[string("`", "`", true, true), string("\"", "\"", true, false), string("'", "'", true, false)];
const SCRIPT_WORDS: &str = "abstract any as async await boolean break case catch class const continue debugger declare \
                            default delete do else enum export extends false finally for from function get if \
                            implements import in infer instanceof interface is keyof let namespace never new null \
                            number object of private protected public readonly return satisfies set static string \
                            super switch this throw true try type typeof undefined unknown var void while with yield";
const C_WORDS: &str = "alignas alignof auto bool break case catch char class co_await co_return co_yield concept const \
                       consteval constexpr constinit continue decltype default delete do double dynamic_cast else enum \
                       explicit export extern false final float for friend goto if inline int int8_t int16_t int32_t \
                       int64_t long mutable namespace new noexcept nullptr NULL operator override private protected \
                       public register reinterpret_cast requires restrict return short signed size_t sizeof static \
                       static_assert static_cast struct switch template this thread_local throw true try typedef typeid \
                       typename uint8_t uint16_t uint32_t uint64_t union unsigned using virtual void volatile while \
                       #define #elif #else #endif #error #if #ifdef #ifndef #include #pragma #undef";
