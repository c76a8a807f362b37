/** What a shell line runs, told by a real shell, against what is read from the line alone. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { programOf } from "../../hooks/shell/launchers.ts";
import { readShell } from "../../hooks/shell/parser.ts";
import { walkShell } from "../../hooks/shell/simple.ts";
import type { Value } from "../../hooks/shell/variables.ts";
import type { Invocation } from "../../hooks/shell/walk.ts";
import { temporaryFolder } from "../temporary-folder.ts";

// Ways to run git that do not begin with its name, for a real shell to run. In the folder are `a` and `b b`.

/** All that they run can be told from the line. */
const exactForms: readonly string[] = [
  // Programs by other names and in other words.
  '"git" stash',
  "g\\it stash",
  "$(which git) stash",
  '"$(command -v git)" stash',
  'G=`type -P git`; "$G" stash',
  'G="$(which git)"; cd a; $G stash',
  "G=git; $G stash",
  'C="git stash push"; $C x',
  "git${IFS}stash",
  "{git,stash}",
  "x=git; x+=' stash'; $x",
  'a=(git stash "p q"); "${a[@]}"; "${a[0]}" "${a[2]}"; ${a[*]} x; git "${a[*]}"',
  "a=(git); a+=(stash); ${a[@]}",
  'set -- git stash "x y"; "$@"; $1 $2 "$3"; git "$*"',
  'set -- x stash; shift; git "$1"',
  'g() { git "$@"; }; g stash "a b"; g',
  'g() { git $*; }; g stash "a b"',
  'g() { local op=$1; shift; git "$op" "$@"; }; g stash x',
  'f() { for x; do git "$x"; done; }; f a "b c"',
  'for x in $(echo a b) "$(echo c d)"; do git "$x"; done',
  // What leads out of nothing.
  "return 2>/dev/null; git a; break 2>/dev/null; git b; continue; git c",
  "f() { git a; return; git b; }; f; for x in 1 2; do git $x; done",
  "f() { bash -c 'return; git b'; return; }; f 2>/dev/null",
  // Programs that are not known, and words that are none.
  "$NONE git stash",
  'eval "$NONE git stash"',
  'sh -c "$NONE git stash"; ${NONE:-} sh -c "git x"',
  "prlimit --nofile git stash",
  // Folders in other words.
  'cd "$(dirname a/x)" && git stash',
  'git -C "$(pwd)/a" stash',
  'cd "$(cd a && pwd)"; git stash',
  "cd a; cd $OLDPWD; git x; git -C ~- y; cd ~+; git z",
  "cd $(realpath a) && git stash",
  // Words that are read.
  'read c <<< stash; git "$c"',
  'read -r a b <<< "x y z"; git "$a" "$b"',
  'while read c; do git "$c" </dev/null; done <<< stash',
  "printf '%s\\n' a b | while read -r c; do git \"$c\" </dev/null; done",
  'mapfile -t m <<< "a b"; git "${m[0]}"',
  // Shells with a text of the line.
  "bash -c -e 'git stash'",
  "bash -ec 'cd a; git stash'",
  "bash -euo pipefail -c 'git stash'",
  "bash --norc -o errexit -c 'git stash'",
  "bash -c 'git \"$@\"' x stash 'a b'",
  "sh -c '$0 stash' git",
  "sh -c 'git \"$1\"' _ stash",
  "bash -c \"git '$(echo a b)'\"",
  "bash <<'X'\ngit stash\nX",
  "bash -s a b <<'X'\ngit \"$2\"\nX",
  "V=x; bash <<X\ngit $V '$(echo y)'\nX",
  "sh -e <<-'X'\n\tgit stash\n\tX",
  "cd a && bash <<'X'\ngit stash\nX",
  "bash <<< 'git stash'",
  "bash < <(echo git stash)",
  "bash <(echo git stash; echo git pop)",
  "source <(echo git stash; echo cd a); git x",
  ". /dev/stdin <<< 'cd a'; git stash",
  "bash /dev/stdin <<< 'git stash'",
  "echo git stash | sh",
  "echo 'git stash' | bash -s",
  "printf 'git %s\\n' stash | bash",
  "printf '%s %s ' git a git b | xargs -n2 env",
  "printf 'git \\x73tash' | bash",
  "echo -e 'cd a\\ngit stash' | bash",
  "echo -n git stash | sh",
  "cat <<'X' | sh\ngit stash\nX",
  "{ echo cd a; echo git stash; } | sh",
  "for c in git; do echo $c stash; done | sh",
  "echo 'git stash' | tee /dev/null | bash",
  "echo 'git stash' | cat - | cat | (cd a; sh)",
  'eval "$(echo git stash)"',
  "eval \"$(cat <<'X'\ngit stash\nX\n)\"",
  "eval 'x=stash'; eval git '$x'",
  "export X=stash; bash -c 'git $X'",
  "X=stash sh -c 'git $X'",
  "git \"$(printf '%s-%s' a b)\" $(echo c d) `pwd | cat`",
  "trap 'git stash' EXIT",
  "(trap 'git stash' EXIT; cd .)",
  "coproc git stash </dev/null; wait",
  "coproc N { git stash; } </dev/null; wait",
  "! git stash",
  "time -p git stash",
  "[[ -n x ]] && git stash",
  // Programs that run others.
  "echo stash | xargs git",
  "echo 'a \"b c\" d\\ e' | xargs git",
  "echo a b c | xargs -n2 git x",
  "printf 'a b\\nc\\n' | xargs -L1 git",
  "printf 'a b\\n  c\\n' | xargs -I{} git x{}y {}",
  "printf 'a b\\nc' | xargs -d '\\n' git",
  "echo stash | xargs -r -P1 -- git",
  "printf '' | xargs -r git; git x",
  ": | xargs git x",
  "echo stash | xargs -I % sh -c 'cd a; git %'",
  "echo git stash | xargs env -C a",
  "xargs git <<< stash",
  "xargs -a <(echo stash) git",
  "echo a | xargs echo git | sh",
  "find . -maxdepth 0 -exec git stash \\;",
  "find . -maxdepth 0 -exec sh -c 'cd a; git stash' ';' -exec git x \\;",
  'env -i PATH="$PATH" KITE_TEST_LOG="$KITE_TEST_LOG" git stash',
  "env -S 'A=1 git \"a b\" c'",
  "env -u X -C a git stash",
  "nohup git stash 2>/dev/null",
  "flock x git stash; flock x -c 'git a'",
  "script -qc 'git stash' /dev/null",
  "exec git stash",
  "(exec -a other git stash)",
  // Aliases of the shell.
  "shopt -s expand_aliases\nalias g=git\ng stash",
  "shopt -s expand_aliases\nalias gs='git stash' x='gs push'\nx a; \\gs 2>/dev/null",
  "shopt -s expand_aliases\nalias git='git -C a'\ngit stash",
];

/** Some of their words only the shell knows. */
const looseForms: readonly string[] = [
  "~/bin/git stash",
  "G=$HOME/bin/git; $G stash",
  "find . -name a -exec git checkout -- {} \\;",
  "find . -name a -exec git checkout -- {} +",
  "find . -name a -execdir git checkout -- {} \\;",
  "find . -name a -exec sh -c 'git checkout -- \"$1\"' _ {} \\;",
  "find . -name a | xargs git checkout --",
  "find . -name a -print0 | xargs -0 -I{} git checkout -- {}",
  'ls | while read -r f; do git checkout -- "$f" </dev/null; done',
  'for f in *; do git checkout -- "$f"; done',
  'bash -c "git checkout -- $RANDOM"',
  'D=$(ls -d a); bash -c "cd $D && git stash"',
];

/** What the shell does may be less than what is read of them. */
const setForms: readonly string[] = [
  "alias g=git; g stash",
  "alias gs='git stash'\ngs",
  "x=git\nunset x\n$x stash 2>/dev/null; git y",
  "f() { git a; }; f() { git b; }; f",
  "case $(ls) in *a*) git stash;; *) git pop;; esac",
  "git a || git b; ! true && git c",
  "while git stash; do break; done; until git pop; do :; done",
];

// Random shell lines, as agents write them and as nobody does, and a real shell that says what they run.

/** One call of git, as git saw it. */
interface Call {
  readonly dir: string;
  readonly args: readonly string[];
}

/** A folder with folders in it, and a `git` that writes down how it was called. */
class ShellWorld {
  readonly dir: string;
  readonly #root: string;

  constructor() {
    this.#root = temporaryFolder("kite-shell-");
    this.dir = join(this.#root, "x", "y");
    const bin = join(this.#root, "bin");
    mkdirSync(bin);
    // It reads all there is, or who writes into its pipe would be ended.
    const script = `#!/bin/sh\nwhile read -r _; do :; done 2>/dev/null\nprintf '%s\\0' "$PWD" "$#" "$@" >>"$KITE_TEST_LOG/$$"\n`;
    writeFileSync(join(bin, "git"), script, { mode: 0o755 });
    for (const from of [this.#root, join(this.#root, "x"), this.dir]) mkdirTree(from, 4);
  }

  /** Runs the line. null where the shell refused it, or a directory was not there: then nothing can be said. */
  run(line: string): readonly Call[] | null {
    // What a run left behind does not write into the next one's.
    const log = mkdtempSync(join(this.#root, "log-"));
    const path = `${join(this.#root, "bin")}:/usr/bin:/bin`;
    const env = { PATH: path, HOME: this.#root, LC_ALL: "C", KITE_TEST_LOG: log };
    const options = { cwd: this.dir, env, input: "", encoding: "utf8", timeout: 10_000 } as const;
    const { error, stderr } = spawnSync("bash", ["-c", line], options);
    if (error !== undefined) throw error;
    if (
      /syntax error|unexpected|(?:cd|pushd|popd): |bash: -c|bad substitution|cannot change directory/.test(
        stderr,
      )
    )
      return null;
    const files = readdirSync(log).map(name => readFileSync(join(log, name), "utf8"));
    const fields = files.join("").split("\0");
    const calls: Call[] = [];
    for (let i = 0; i + 1 < fields.length; ) {
      const count = Number(fields[i + 1]);
      calls.push({ dir: fields[i] ?? "", args: fields.slice(i + 2, i + 2 + count) });
      i += 2 + count;
    }
    return calls;
  }
}

function mkdirTree(from: string, depth: number): void {
  for (const name of ["a", "b b"]) {
    mkdirSync(join(from, name), { recursive: true });
    if (depth > 1) mkdirTree(join(from, name), depth - 1);
  }
}

const sometimes = <T>(arbitrary: fc.Arbitrary<T>, otherwise: T) =>
  fc.oneof({ weight: 1, arbitrary }, { weight: 3, arbitrary: fc.constant(otherwise) });

const rough = ";&|<>(){}$\"`#'\\ \n=a-";
const without = (chars: string) =>
  fc.string({ unit: fc.constantFrom(...[...rough].filter(c => !chars.includes(c))), maxLength: 6 });
const variable = fc.constantFrom("$V", "${V}", "$W");

/** Not the same twice: a function that runs itself has no end. */
const name = fc.noShrink(fc.stringMatching(/^f[a-z]{6}$/));

const inQuotes = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

type Kind = "word" | "command" | "list" | "simple" | "element" | "document" | "script" | "line";

/** Lines whose commands all run, once each; or, not `straight`, also such that may run or not. */
function lines(straight: boolean): fc.Arbitrary<string> {
  const { line } = fc.letrec<Record<Kind, string>>(tie => ({
    word: fc.oneof(
      {
        weight: 6,
        arbitrary: fc.constantFrom("stash", "x.ts", "--hard", "-C", "a/b", "HEAD~1", "-am", "@{0}", "--"),
      },
      { weight: 1, arbitrary: without("'").map(text => `'${text}'`) },
      { weight: 1, arbitrary: without('"\\$`').map(text => `"${text}"`) },
      {
        weight: 1,
        arbitrary: fc.constantFrom("\\ ", "\\;", '\\"', "\\'", "\\\\", "\\a", "\\$V", "a\\\nb", "''", '""'),
      },
      {
        weight: 1,
        arbitrary: fc.constantFrom("$'a\\n\\'b'", "$'\\x41\\101'", '$"a b"', "a#b", "$", "a=b", "{}", "}"),
      },
      {
        weight: 1,
        arbitrary: fc.constantFrom('"\\"a"', '"\\a\\\\"', '"\\$V"', '"a\\\nb"', '"\\`"', '"it\'s"'),
      },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          "{a,b}",
          "p{a,b c}q",
          "x{,y}",
          "{a}",
          "$((1 + (2)))",
          "${U:-a}",
          '"${U:-a b}"',
        ),
      },
      {
        weight: 2,
        arbitrary: fc.oneof(
          variable,
          variable.map(v => `"${v}"`),
        ),
      },
      { weight: 1, arbitrary: tie("list").map(l => `$(${l}\n)`) },
      { weight: 1, arbitrary: tie("list").map(l => `"$(${l}\n)"`) },
      {
        weight: 1,
        arbitrary: tie("simple")
          .filter(s => !/[\\`]/.test(s))
          .map(s => `\`${s}\``),
      },
      {
        weight: 1,
        // With braces in it the rest of a word is there more than once, and what it runs, too.
        arbitrary: fc
          .tuple(tie("word"), tie("word"))
          .map(([a, b]) => a + b)
          .filter(word => !/[{}]/.test(word)),
      },
    ),
    simple: fc
      .tuple(
        sometimes(fc.constantFrom("FOO=1 ", "2>/dev/null ", "V='p q' ", "FOO=$V ", "A=(x) "), ""),
        sometimes(
          fc.constantFrom(
            "env ",
            "command ",
            "nice -n 1 ",
            "timeout 5 ",
            "env -u X A=1 ",
            "stdbuf -oL ",
            "env -C a ",
            ...(straight ? [] : ["! ", "env A=1 -u X "]),
          ),
          "",
        ),
        fc.constantFrom("git", "git", "git", '"git"', "g\\it", "gi''t", "/usr/bin/env git"),
        fc.array(tie("word"), { maxLength: 3 }),
        sometimes(fc.constantFrom(" >/dev/null", " 2>&1", " <<<x", " >| /dev/null", " &>/dev/null"), ""),
      )
      .map(([assignment, wrapper, git, words, redirection]) => {
        const front = wrapper === "! " ? wrapper + assignment : assignment + wrapper;
        const isArray = assignment.startsWith("A=(");
        return `${isArray ? "A=(x); " : ""}${isArray ? front.replace("A=(x) ", "") : front}${git} ${words.join(" ")}${redirection}`;
      }),
    command: fc.oneof(
      { depthSize: "small" },
      tie("simple"),
      tie("simple"),
      fc.constantFrom(
        "cd a",
        "cd 'b b'",
        "cd ./a/..",
        "cd ..",
        "cd -",
        "pushd a",
        "popd",
        'cd "$PWD/a"',
        "cd a/b\\ b",
      ),
      fc
        .tuple(fc.constantFrom("V=", "W=", "export V=", "local_=1 V="), tie("word"))
        .map(([name, word]) => name + word),
      tie("word").map(word => `: ${word}`),
      fc
        .tuple(
          fc.constantFrom("x", "\"'a b'\"", "$(git y)"),
          fc.constantFrom("", "-n 1 ", ...(straight ? [] : ["-I% "])),
        )
        .map(([w, o]) => `echo ${w} | xargs ${o}git x %`),
      tie("list").map(l => `( ${l}\n)`),
      tie("list").map(l => `{ ${l}\n}`),
      tie("list").map(l => `bash -c '${l.replaceAll("'", "'\\''")}' x`),
      tie("simple").map(l => `eval ${inQuotes(l)}`),
      tie("simple").map(l => `eval "$(printf %s ${inQuotes(l)})"`),
      tie("simple")
        .filter(l => !/\$\(|`/.test(l))
        .map(l => `printf '%s\\n' ${inQuotes(l)} | bash`),
      tie("list").map(l => `bash <(printf %s ${inQuotes(l)})`),
      fc
        .tuple(name, tie("word"), tie("word"))
        .map(([f, a, b]) => `{ ${f}() { git "$@"; }; ${f} ${a} ${b}\n}`),
      fc.tuple(tie("word"), tie("word")).map(([a, b]) => `{ A=(${a} ${b}); git "\${A[@]}" \${A[*]}\n}`),
      tie("word").map(w => `while read -r k; do git "$k" </dev/null; done <<<${w}`),
      fc.tuple(tie("list"), tie("list")).map(([a, b]) => `if true; ${a}\n true; then ${b}\nfi`),
      fc
        .tuple(fc.subarray(["x", "'a b'", "{p,q}", "$'\\n'"]), tie("list"))
        .map(([w, l]) => `for V in ${w.join(" ")}; do ${l}\ndone`),
      fc.tuple(name, tie("list")).map(([f, l]) => `{ ${f}() { ${l}\n}; cd a; ${f}\n}`),
      fc.tuple(name, tie("list")).map(([f, l]) => `{ function ${f} { ${l}\n}\n${f}\n}`),
      fc.tuple(tie("command"), tie("command")).map(([a, b]) => `${a} | ${b}`),
      fc.tuple(tie("command"), tie("command")).map(([a, b]) => `${a} && ${b}`),
      tie("command").map(c => `{ ${c} & wait; }`),
      fc.tuple(tie("word"), tie("list")).map(([w, l]) => `{ [[ -n ${w} || ( a < b ) ]]; ${l}\n}`),
      ...(straight
        ? []
        : [
            fc.tuple(tie("command"), tie("command")).map(([a, b]) => `${a} || ${b}`),
            fc.tuple(tie("list"), tie("list")).map(([a, b]) => `if false; then ${a}\n else ${b}\n fi`),
            fc
              .tuple(tie("word"), tie("list"), tie("list"))
              .map(([w, a, b]) => `case ${w} in (x|y) ${a}\n;; *) ${b}\n esac`),
            tie("list").map(l => `for i in 1 2 $(echo 3); do ${l}\ndone`),
            tie("list").map(l => `k=; while [ "$k" != xx ]; do k=x$k; ( ${l}\n )\ndone`),
            tie("list").map(l => `until true; do ${l}\ndone`),
            tie("list").map(l => `if true; then exit; fi; { ${l}\n}`),
          ]),
    ),
    element: fc.oneof(
      {
        weight: 8,
        arbitrary: fc.tuple(tie("command"), fc.constantFrom("; ", "\n", " ;\n")).map(([c, end]) => c + end),
      },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          "# it's git stash $(git stash)\n",
          "\n",
          "true; # x\n",
          "git x # git stash $(git stash)\n",
          "((1 + 1))\n",
        ),
      },
    ),
    // Only outside of `$(`: bash 5.2 itself loses its way in lists with one there.
    document: fc
      .tuple(
        tie("simple"),
        fc.constantFrom("<<E", "<<'E'", '<<-"E"', "<<\\E"),
        without('\\$`"'),
        tie("simple"),
      )
      .filter(([front, , , inner]) => !/\n/.test(front + inner))
      .map(
        ([front, operator, text, inner]) =>
          `${front} ${operator}\n${text}'\n$(${inner})\n$V\n${operator.includes("-") ? "\t" : ""}E\n`,
      ),
    // A git further in would read what the shell is yet to read.
    script: fc
      .tuple(
        fc.constantFrom("bash", "bash -e", "env bash -s x", "cat", "cd a && bash"),
        name,
        tie("simple").filter(l => !/\$\(|`/.test(l)),
      )
      .map(([shell, end, l]) => `${shell} <<'${end}'${shell === "cat" ? " | bash" : ""}\n${l}\n${end}\n`),
    list: fc.array(tie("element"), { minLength: 1, maxLength: 3, size: "small" }).map(all => all.join("")),
    line: fc
      .array(
        fc.oneof(
          { weight: 4, arbitrary: tie("element") },
          { weight: 1, arbitrary: tie("document") },
          { weight: 1, arbitrary: tie("script") },
          {
            weight: 1,
            arbitrary: fc.tuple(tie("document"), tie("list")).map(([d, l]) => `( cd a; ${d}${l}\n)\n`),
          },
        ),
        { minLength: 1, maxLength: 3 },
      )
      .map(all => all.join("")),
  }));
  return line;
}

/** The same lines each time; others, and more, on request. */
const runs = {
  seed: Number(process.env["KITE_SHELL_SEED"] ?? 1),
  numRuns: Number(process.env["KITE_SHELL_RUNS"] ?? 40),
};

const world = new ShellWorld();

/** The calls of git that are read from a line. */
function found(line: string): readonly Invocation[] {
  const all: Invocation[] = [];
  const { node, unread } = readShell(line);
  expect(unread).toBeNull();
  const tooMuch = walkShell(node, world.dir, run => {
    if (programOf(run.values) === "git") all.push(run);
  });
  expect(tooMuch).toBeNull();
  return all;
}

/** What is not known may be any words, or none. */
function fits([first, ...rest]: readonly Value[], args: readonly string[]): boolean {
  if (first === undefined) return args.length === 0;
  if (first.known) return args[0] === first.text && fits(rest, args.slice(1));
  return args.some((_, i) => fits(rest, args.slice(i))) || fits(rest, []);
}

const isOf = (call: Call) => (run: Invocation) => isIn(run, call.dir) && fits(run.values.slice(1), call.args);

function isIn({ dir, isBelow }: Invocation, where: string): boolean {
  return dir === null || dir === where || (isBelow && where.startsWith(`${dir}/`));
}

/** Whether every call has a reading of its own. */
function pairs(calls: readonly Call[], runs: readonly Invocation[]): boolean {
  const taken = new Map<Invocation, Call>();
  const place = (call: Call, seen: Set<Invocation>): boolean =>
    runs.filter(isOf(call)).some(run => {
      if (seen.has(run)) return false;
      seen.add(run);
      const other = taken.get(run);
      if (other !== undefined && !place(other, seen)) return false;
      taken.set(run, call);
      return true;
    });
  return calls.every(call => place(call, new Set()));
}

const told = (calls: readonly Call[], runs: readonly Invocation[]) =>
  `git ran:\n${calls.map(c => JSON.stringify(c)).join("\n")}\nread:\n${runs
    .map(({ dir, values }) =>
      JSON.stringify({ dir, args: values.slice(1).map(v => (v.known ? v.text : { from: v.text })) }),
    )
    .join("\n")}`;

describe("whatever a line is made of", () => {
  test("where every command runs, each call of git is read, with its words and where, and no other", () => {
    let compared = 0;
    fc.assert(
      fc.property(lines(true), line => {
        const calls = world.run(line);
        if (calls === null) return;
        compared += calls.length;
        const runs = found(line);
        const explained = told(calls, runs);
        expect(pairs(calls, runs), explained).toBe(true);
        expect(runs.length, explained).toBe(calls.length);
      }),
      runs,
    );
    expect(compared).toBeGreaterThan(20);
  });

  test("where commands may run or not, none that ran is missing", () => {
    let compared = 0;
    fc.assert(
      fc.property(lines(false), line => {
        const calls = world.run(line);
        if (calls === null) return;
        compared += calls.length;
        const runs = found(line);
        for (const call of calls) expect(runs.some(isOf(call)), told([call], runs)).toBe(true);
      }),
      runs,
    );
    expect(compared).toBeGreaterThan(20);
  });
});

describe("every way to get git behind something else", () => {
  test.each(exactForms)("%s: what runs is read, and nothing else", line => {
    const calls = world.run(line);
    expect(calls).not.toBeNull();
    expect(calls).not.toEqual([]);
    const runs = found(line);
    const explained = told(calls ?? [], runs);
    expect(pairs(calls ?? [], runs), explained).toBe(true);
    expect(runs.length, explained).toBe(calls?.length);
    // Nothing is left open, either.
    expect(
      runs.every(({ values }) => values.slice(1).every(({ known }) => known)),
      explained,
    ).toBe(true);
  });

  test.each(looseForms)("%s: what runs is read, with words that are not known", line => {
    const calls = world.run(line);
    expect(calls).not.toBeNull();
    expect(calls).not.toEqual([]);
    const runs = found(line);
    for (const call of calls ?? []) expect(runs.some(isOf(call)), told([call], runs)).toBe(true);
    // What it is called with is not any word whatever.
    for (const { values } of runs) expect(values[1]?.known, told(calls ?? [], runs)).toBe(true);
  });

  test.each(setForms)("%s: what is set on the line is followed as the shell does", line => {
    const calls = world.run(line);
    expect(calls).not.toBeNull();
    expect(pairs(calls ?? [], found(line)), told(calls ?? [], found(line))).toBe(true);
  });
});
