"""The codes of the reader: what a file of bytes can be before it is a playbook."""

from noetlc.diag.diagnostic import Code, Severity

E, W, N = Severity.ERROR, Severity.WARNING, Severity.NOTE

SOURCE_CODES: dict[str, Code] = {
    "NL000": Code(
        "internal-error", E, "A part of `noetlc` failed",
        "It is a mistake of `noetlc`, not of the playbook. What this part would have found is not known; all others\n"
        "were asked. The exit code is 3. The number stands for the mistake and is the same in every file.",
        "noetlc lint orders.yaml",
        "Please report the number with the playbook, or with as much of it as still shows the message.",
    ),
    "NL001": Code(
        "not-utf-8", E, "The file is not text in UTF-8",
        "Editors guess encodings, each its own way; a wrong guess changes names and values without a word.",
        "a file saved as Latin-1: the byte E9 for é",
        "Save the file as UTF-8. UTF-16 is read too when it begins with a byte order mark.",
    ),
    "NL002": Code(
        "control-character", E, "A character that YAML does not allow",
        "Control characters, U+0000 among them, cannot be seen; stores and terminals disagree about them.",
        "name: a<U+0000>b",
        'Remove it, or write it as an escape in double quotes: name: "a\\x00b"',
    ),
    "NL003": Code(
        "yaml-syntax", E, "The file is no YAML",
        "Nothing after the place can be understood, so nothing after it is checked.",
        "next: {arcs: [{step: b}]\n\ndesc: stage: two",
        'next: {arcs: [{step: b}]}\n\ndesc: "stage: two"',
    ),
    "NL004": Code(
        "duplicate-key", E, "A key is written twice in one mapping",
        "YAML readers keep one of the two, most of them the second: the first is lost without a word.",
        "step: pay\nnext: {arcs: [{step: approve}]}\nnext: {arcs: [{step: reject}]}",
        "step: pay\nnext: {arcs: [{step: approve}, {step: reject}]}\n\n"
        "A key beside a merge key `<<` overrides what is merged and is no duplicate.",
    ),
    "NL005": Code(
        "file-too-large", E, "The file is larger than the limits allow",
        "A playbook is read as a whole; without a limit one file can fill the memory of who compiles it.",
        "workload: {rows: [ … a million rows … ]}",
        "Keep data in a file or a table of its own and read it in a step.\n"
        "At most 32 MiB, 2,000,000 parts and 1,000 documents are read.",
    ),
    "NL006": Code(
        "nested-too-deep", E, "Too many mappings and lists inside each other",
        "Depth is what makes readers of YAML and JSON overflow their stacks.",
        "workload: [[[[[[[[ … ]]]]]]]]",
        "At most 100 levels are read, aliases followed. Build deeper values in a step.",
    ),
    "NL007": Code(
        "alias-expansion", E, "Aliases expand to more than the limits allow",
        "A few lines of aliases of aliases stand for billions of nodes (the billion laughs).",
        "a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: [*b, *b, *b]        # and so on",
        "Aliases may add 250,000 nodes and 32 MiB of text to a file. Build larger values in a step.",
    ),
    "NL008": Code(
        "unknown-alias", E, "An alias without an anchor before it",
        "An alias stands for the node of an anchor earlier in the same document.",
        "files: *.csv",
        'files: "*.csv"',
    ),
    "NL009": Code(
        "recursive-alias", E, "An alias inside of what it refers to",
        "The value would contain itself; plans, events and results are trees.",
        "a: &a {again: *a}",
        "Write out what is meant.",
    ),
    "NL010": Code(
        "key-not-text", E, "A key that is a list or a mapping",
        "Keys of playbooks and of JSON are text.",
        "? [a, b]\n: 1",
        '"a,b": 1',
    ),
    "NL011": Code(
        "refused-tag", E, "A YAML tag that is not read",
        "Tags make types that JSON has not (dates, bytes, sets), or call constructors.\n"
        "Plans and events carry JSON.",
        "at: !!timestamp 2026-01-02\nlogo: !!binary aGk=",
        'at: 2026-01-02            # dates stay text\nlogo: "{{ \'aGk=\' | b64decode }}"',
    ),
    "NL012": Code(
        "tag-misfit", E, "A value that does not fit its tag",
        "The tag promises a type that the text cannot be read as.",
        "count: !!int many",
        "count: many",
    ),
    "NL013": Code(
        "merge-not-mapping", E, "A merge key with something that is no mapping",
        "`<<` copies the entries of a mapping, or of each mapping of a list.",
        "retry: {<<: 3}",
        "retry: {<<: *defaults, attempts: 3}",
    ),
    "NL014": Code(
        "number-not-finite", E, "A number that JSON cannot carry",
        "Infinity and NaN have no JSON form: events, results and most tools would lose or refuse them.",
        "limit: .inf",
        'limit: ".inf"             # the text\nlimit: null               # no limit',
    ),
    "NL015": Code(
        "integer-too-long", E, "An integer with too many digits",
        "Integers are exact up to 1,000 characters; beyond, reading and printing them costs too much.",
        "id: 1000…                 # 2,000 digits",
        'id: "1000…"',
    ),
    "NL016": Code(
        "ambiguous-scalar", W, "Text that YAML 1.1 and YAML 1.2 read differently",
        "Playbooks are read as YAML 1.1: `yes` and `on` are true, a leading 0 means octal, a colon base 60.\n"
        "YAML 1.2 and many editors read text or another number. A name, as of a step, is taken as it is written.",
        "mode: 0644                # 420\nat: 22:30                 # 1350\n"
        "answer: no                # false",
        'mode: "0644"\nat: "22:30"\nanswer: "no"              # or: false',
        "Where nothing but YAML 1.1 readers ever see the file, and the value shown is the one that was meant.",
    ),
    "NL017": Code(
        "trailing-zero", N, "A number that loses a final zero",
        "A version looks like a number and is read as one: 1.10 is 1.1. Only keys that say so (`version`, `tag`,\n"
        "`image`, `python`, …) are looked at: of a price or a place the zero is nothing but writing.",
        "version: 1.10",
        'version: "1.10"',
        "Where a number is meant, and its last zero is nothing but writing.",
    ),
    "NL018": Code(
        "dash-without-space", W, "A key that begins with a dash",
        "`-step: a` is a mapping with the key `-step`, not a list item.",
        "workflow:\n  -step: start",
        "workflow:\n  - step: start",
        "Where the key really begins with a dash, as in a payload of another program.",
    ),
    "NL019": Code(
        "empty-file", E, "A file without a document",
        "There is nothing to compile.",
        "# only a comment",
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: hello}",
    ),
    "NL020": Code(
        "unquoted-template", E, "A template without quotes",
        "`{` begins a YAML mapping, so `{{ x }}` is a mapping in a mapping.",
        "url: {{ workload.base }}/users",
        'url: "{{ workload.base }}/users"',
    ),
    "NL021": Code(
        "tab-indentation", E, "A tab in the indentation",
        "YAML forbids it: how wide a tab is depends on who looks.",
        "step: a\ntool:\n<tab>kind: noop",
        "step: a\ntool:\n  kind: noop",
    ),
    "NL022": Code(
        "unused-ignore", W, "A comment that ignores what is not there",
        "The finding is gone, or the comment stands at the wrong line; left there, it will hide the next one.",
        "- step: start  # noetl: ignore[NL601] is started by hand     # and nothing is wrong with the step",
        "Delete the comment, or put it at the line of the finding or alone above it.",
        "Where the finding comes and goes, because the file is written by another program.",
    ),
    "NL023": Code(
        "ignore-without-reason", W, "A comment that ignores a finding and does not say why",
        "Who reads the file later cannot know whether the reason still holds.",
        "- step: repair  # noetl: ignore[NL601]",
        "- step: repair  # noetl: ignore[unreachable-step] operators start here with --from",
        "Where the reason stands in a comment beside it.",
    ),
    "NL024": Code(
        "ignore-of-nothing", W, "A comment that ignores no code, or one that does not exist",
        "It has no effect: what it was meant for is still reported, or was misspelt.",
        "# noetl: ignore[unreachable-stop] started by hand",
        "# noetl: ignore[unreachable-step] started by hand",
        "Where the comment is for another version of `noetlc`, which has the code.",
    ),
    "NL025": Code(
        "stale-baseline", N, "An entry of the baseline that no finding matches any more",
        "What it was about is mended or moved; left there, it would hide the same mistake at the same place.",
        "an entry for `NL601 at workflow/step lonely/step`, and the step has an arc now",
        "Write the baseline anew: `noetlc lint PATH --write-baseline FILE`.",
        "Where the baseline is shared by branches of which one still has the finding.",
    ),
    "NL026": Code(
        "unusable-file", E, "A file that cannot be read, or not be written",
        "Nothing is known of a playbook that nobody could look at. The others under the same path are looked at.",
        "a link to a file that is gone, a file without permission to read, a write-protected one under --write",
        "Mend the link or the permissions, or name the files that are meant.",
    ),
}  # fmt: skip
