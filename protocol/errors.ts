/** Words errors of the operating system for people: what happened, to what, what to do next. */

/** What Node adds to an error of the system. */
interface SystemError extends Error {
  readonly syscall: string;
  readonly code?: string;
  readonly path?: string;
  readonly dest?: string;
}

/** Whether an error comes from the operating system, not from a fault in the program. */
export function isSystemError(error: unknown): error is SystemError {
  return error instanceof Error && "syscall" in error && typeof error.syscall === "string";
}

/** By code: what is wrong, and what to do. `it` is the file or `the file`. */
const sentences: Readonly<Record<string, (it: string) => string>> = {
  EACCES: it => `no permission for ${it}; see who may use it and its folder: ls -ld`,
  EPERM: it => `the system does not permit this on ${it}; see its owner and flags: ls -ld`,
  ENOENT: it => `${it} does not exist; see if it was moved or removed`,
  ENOTDIR: it => `a part of ${it} is no folder but a file; move that file away`,
  EISDIR: it => `${it} is a folder, not a file; move it away`,
  EEXIST: it => `${it} exists already; move it away`,
  ENOTEMPTY: it => `the folder ${it} is not empty; move away what is in it`,
  ELOOP: it => `${it} is a link, or leads through links in a cycle; put the file itself there`,
  ENAMETOOLONG: it => `the name ${it} is longer than the system allows; choose a shorter one`,
  ENOSPC: it => `no space is left on the disk of ${it}; free some, then try again`,
  EDQUOT: it => `your share of the disk of ${it} is used up; free some space, then try again`,
  EROFS: it => `the disk of ${it} can only be read; choose a place that can be written`,
  EMFILE: () => "this process has too many open files; raise the bound (ulimit -n), then try again",
  ENFILE: () => "the machine has too many open files; end some programs, then try again",
  EIO: it => `the disk failed at ${it}; see the disk's health`,
  EBUSY: it => `another program uses ${it}; end that program, then try again`,
  EXDEV: it => `${it} is on another disk; choose a place on the same one`,
  ETXTBSY: it => `${it} runs at this moment; try again when it has ended`,
  ENOMEM: () => "the machine has no memory left; end some programs, then try again",
  EAGAIN: () => "the system has no room for it at this moment; try again",
  EPIPE: () => "the program that read this output has ended",
  ECONNREFUSED: it => `nobody listens at ${it}`,
  ECONNRESET: () => "the other side closed the connection; try again",
  ETIMEDOUT: it => `${it} did not answer in time; try again`,
};

/** Returns the sentence for an error of the operating system. It holds no path but the error's own. */
export function systemErrorText(error: SystemError): string {
  if (error.syscall === "uv_cwd" || (error.syscall === "getcwd" && error.code === "ENOENT"))
    return "the working directory no longer exists; go to another one with cd";
  const program = /^spawn (.+)$/.exec(error.syscall)?.[1];
  if (program !== undefined && error.code === "ENOENT")
    return `the program ${program}, or the directory to run it in, is not there; install it, or correct PATH`;
  if (program !== undefined && error.code === "EACCES")
    return `the program ${program} may not be run; see its permissions: ls -l`;
  // A file is moved onto a folder: that is in the way, not the file.
  const isInTheWay = error.code === "EISDIR" || error.code === "EEXIST" || error.code === "ENOTEMPTY";
  const it = (isInTheWay ? error.dest : undefined) ?? error.path ?? "the file";
  const sentence = sentences[error.code ?? ""];
  if (sentence !== undefined) return sentence(it);
  return `the system reports ${error.code ?? "an error"} for ${it}; see if the disk and its permissions are in order`;
}

/** Returns what an error says to people: the sentence of a system's error, else the error's own message. */
export function errorText(error: unknown): string {
  if (isSystemError(error)) return systemErrorText(error);
  return error instanceof Error ? error.message : String(error);
}

// Says where a text stops being JSON, as an editor counts: the engine's own messages give a byte's number, or none.

type Expected = "value" | "value or ]" | "key" | "key or }" | "colon" | "comma or end" | "end";

const blanks = /[ \t\n\r]*/y;
const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON's strings may not hold them.
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;

/**
 * Returns what is wrong with a text that is no JSON, and where: `line 3, column 7: expected a comma or }`. Returns null
 * if the text is JSON; a byte order mark before it counts as a blank.
 */
export function jsonProblem(text: string): string | null {
  const open: ("}" | "]")[] = [];
  let expected: Expected = "value";
  let at = text.startsWith("\uFEFF") ? 1 : 0;
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null || found[0] === "" || found.index !== at) return false;
    at += found[0].length;
    return true;
  };
  const afterValue = (): Expected => (open.length === 0 ? "end" : "comma or end");
  for (;;) {
    take(blanks);
    const character = text[at];
    const isEnd = character === undefined;
    if (isEnd && expected === "end") return null;
    const wrong = `${position(text, at)}: ${isEnd ? "the text ends too early; " : ""}expected ${nounOf(expected, open)}`;
    if (isEnd || expected === "end") return wrong;
    const closes = expected === "value or ]" || expected === "key or }" || expected === "comma or end";
    if (closes && character === open.at(-1)) {
      open.pop();
      at += 1;
      expected = afterValue();
    } else if (expected === "comma or end" || expected === "colon") {
      if (character !== (expected === "colon" ? ":" : ",")) return wrong;
      at += 1;
      expected = expected === "comma or end" && open.at(-1) === "}" ? "key" : "value";
    } else if (expected === "key" || expected === "key or }") {
      if (character !== '"') return wrong;
      if (!take(string)) return badString(text, at);
      expected = "colon";
    } else if (character === "{" || character === "[") {
      open.push(character === "{" ? "}" : "]");
      at += 1;
      expected = character === "{" ? "key or }" : "value or ]";
    } else if (character === '"') {
      if (!take(string)) return badString(text, at);
      expected = afterValue();
    } else {
      if (!take(scalar)) return wrong;
      expected = afterValue();
    }
  }
}

function badString(text: string, at: number): string {
  return `${position(text, at)}: the text in quotes does not end on its line, or holds a wrong escape`;
}

function nounOf(expected: Expected, open: readonly string[]): string {
  const close = open.at(-1) ?? "";
  const nouns: Readonly<Record<Expected, string>> = {
    value: "a value",
    "value or ]": "a value or ]",
    key: "a name in double quotes",
    "key or }": "a name in double quotes or }",
    colon: "a colon",
    "comma or end": `a comma or ${close}`,
    end: "nothing more",
  };
  return nouns[expected];
}

/** Lines and columns count from 1. */
function position(text: string, at: number): string {
  const before = text.slice(0, at);
  const line = before.split("\n").length;
  return `line ${line}, column ${at - before.lastIndexOf("\n")}`;
}
