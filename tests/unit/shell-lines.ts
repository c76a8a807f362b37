/** Random shell lines, as agents write them and as nobody does, and a real shell that says what they run. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { temporaryFolder } from "../temporary-folder.ts";

/** One call of git, as git saw it. */
export interface Call {
  readonly dir: string;
  readonly args: readonly string[];
}

/** A folder with folders in it, and a `git` that writes down how it was called. */
export class ShellWorld {
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
export function lines(straight: boolean): fc.Arbitrary<string> {
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
