/**
 * Words the daemon's refusals for their readers. Its own sentences are those of the wire, some as published: they name
 * requests, parameters and ids. A person reads commands and options instead, an agent the tools it has; both read names.
 */
import type { TrailWould } from "../daemon/trail/line.ts";
import { type Code, codes } from "../protocol/codes.ts";
import { isResource, withPersonName } from "../protocol/names.ts";
import { duration } from "../protocol/text.ts";

/** A refusal as it came, or as a row tells of it. */
interface Refused {
  readonly code: string;
  readonly error: string;
  /** As in the published replies about locks; a row has no holder. */
  readonly file?: unknown;
  readonly lent?: unknown;
  readonly locked_by_name?: unknown;
  /** A command of one's own has it. */
  readonly yours?: unknown;
  readonly locked_ago?: unknown;
  /** Of a lock that its holder keeps until its work is done, with the path of it and whether it is a directory's. */
  readonly use?: unknown;
  readonly path?: unknown;
  readonly held?: unknown;
  readonly dir?: unknown;
}

/** `terminal`: somebody who types `kite`. `tools`: an agent with Kite's MCP tools. */
export type Reader = "terminal" | "tools";

/** By the wire's word: what stands for it at a terminal, and for an agent with tools. */
const words: Readonly<Record<string, readonly [terminal: string, tools: string]>> = {
  file_lock: ["kite lock", "kite_lock"],
  file_unlock: ["kite unlock", "kite_unlock"],
  file_check: ["kite status --locks", "kite_status"],
  task_create: ["kite task add", "kite_task_create"],
  task_update: ["kite task edit", "kite_task_edit"],
  task_get: ["kite task show", "kite_task_list"],
  task_claim: ["kite task claim", "kite_task_claim"],
  task_release: ["kite task release", "kite_task_release"],
  task_remove: ["kite task rm", "kite_task_list"],
  task_import: ["kite task import", "kite_task_create"],
  task_approve: ["kite task approve", "your user's kite task approve"],
  role_set: ["kite role", "your lead's kite role"],
  context_set: ["kite context set", "kite_context_set"],
  context_get: ["kite context get", "kite_context_get"],
  context_list: ["kite context list", "kite_context_get without a key"],
  context_delete: ["kite context rm", "kite_context_set"],
  message_send: ["kite message send", "kite_message"],
  message_list: ["kite message inbox", "kite_inbox"],
  message_ack: ["kite message ack", "kite_inbox"],
  agent_release: ["kite release", "your lead's kite release"],
  waitMs: ["--wait", "waitMs"],
  dependsOn: ["--needs", "dependsOn"],
  ifVersion: ["--if-version", "ifVersion"],
  ttlMs: ["--ttl", "ttlMs"],
  replyTo: ["--reply", "replyTo"],
  requestId: ["id", "id"],
};

const known = new RegExp(`\\b(?:${Object.keys(words).join("|")})\\b`, "g");
/** A refused parameter's place begins with the request's name; one that is about the whole request names no parameter. */
const place = /^[a-z]+(?:_[a-z]+)*: /;
const whole = /^(?:[a-z]+(?:_[a-z]+)*: )?request: /;

/** Returns the refusal's sentence for this reader. */
export function refusalText(refusal: Refused, reader: Reader): string {
  const own = withPersonName(
    ofLocks(refusal, reader) ?? refusal.error,
    reader === "terminal" ? "person" : "agent",
  );
  const text = refusal.code === "invalid_request" ? wrongField(withoutPlace(own), reader) : own;
  const worded = reopened(text, reader).replace(
    known,
    word => words[word]?.[reader === "terminal" ? 0 : 1] ?? word,
  );
  return reader === "terminal" ? worded : toolWords(worded);
}

/** The wire opens an ended task again by its status; at a terminal a command does it, and agents have no tool for it. */
function reopened(text: string, reader: Reader): string {
  const [, task] = /^(\S+) is /.exec(text) ?? [];
  if (task === undefined) return text;
  const how = reader === "terminal" ? "open it again" : "ask your user to open it again";
  return text.replace(
    /(?:(?:retry|reopen) it first: status pending|set it to pending to begin it anew)$/,
    `${how}: kite task retry ${task}`,
  );
}

function withoutPlace(text: string): string {
  if (whole.test(text)) return text.replace(whole, "");
  return text.replace(place, "").includes(": ") ? text.replace(place, "") : text;
}

/** What a person typed for a field of a request; other fields are called by their names. */
const typed: Readonly<Record<string, string>> = {
  dependsOn: "--needs",
  description: "the description",
  files: "a file",
  file: "a file",
  resource: "a resource",
  hold: "the freeze",
  key: "the key",
  labels: "--label",
  message: "the message",
  name: "the name",
  project: "--project",
  reason: "--reason",
  result: "the result",
  task: "the task",
  text: "the text",
  to: "the recipient",
  ttlMs: "--ttl",
  value: "the value",
};

/** At a terminal, says in words which field is wrong and how; agents have the words of their tools. */
function wrongField(text: string, reader: Reader): string {
  const [, path = "", says = ""] = /^([a-zA-Z]+(?:\.\w+)*): (.*)$/s.exec(text) ?? [];
  if (reader !== "terminal" || path === "") return text;
  const field = typed[path.split(".")[0] ?? ""] ?? path.replaceAll(/\.\d+/g, "");
  if (says === "an id is never empty") return `${field} must not be empty`;
  if (/^Too small: expected string/.test(says)) return `${field} must not be empty`;
  const [, most] = /^Too (?:big|long): expected \w+ to have <=(\d+) (?:characters|items)$/.exec(says) ?? [];
  if (most !== undefined)
    return `${field} is too long: it may have ${most} ${/items$/.test(says) ? "entries" : "characters"}`;
  // A sentence of its own names its subject.
  return /^(?:an?|the) \w+ (?!of\b)/.test(says) ? says : `${field}: ${says}`;
}

/** What stands for a word of the shell where an agent has a tool, the longer one first. */
const shellWords: readonly (readonly [shell: RegExp, tools: string])[] = [
  [/^kite task ready\b/, "kite_task_list (which: ready)"],
  [/^kite task (?:list|show)\b/, "kite_task_list"],
  [/^kite debate (\w+)/, "kite_debate (verb: $1)"],
  [/^kite context (?:get|list)\b/, "kite_context_get"],
  [/^kite message send\b/, "kite_message"],
  [/^kite spawn --task (\S+)/, "kite_spawn (task: $1)"],
  [/^kite spawn(?: PROMPT)?(?! --)\b/, "kite_spawn"],
  [/^--task ID\b/, "task"],
  [/^--here\b/, "here: true"],
  [/^--name\b/, "name"],
];
const shellWord = /(?:kite (?:task|debate|context|message|spawn)\b|--)[^;,.)]*/g;
/** Behind these words a sentence says what a person types. */
const ofPerson = /\b(?:user|person)\b[^;]*$/;

/** Returns a sentence with an agent's tools and their parameters for the commands and options that it names. */
export function toolWords(sentence: string): string {
  return sentence.replace(shellWord, (found: string, at: number) => {
    if (ofPerson.test(sentence.slice(0, at))) return found;
    const [shell, tools] = shellWords.find(([words]) => words.test(found)) ?? [];
    return shell === undefined || tools === undefined ? found : found.replace(shell, tools);
  });
}

/** What a line of the trail says of a refusal; null or absent: nothing. */
interface TrailRefusal {
  readonly code?: string | null | undefined;
  readonly why?: string | null | undefined;
  /** Who had the file. */
  readonly holder?: string | null | undefined;
  readonly file?: string | null | undefined;
  readonly would?: TrailWould | undefined;
}

/**
 * Returns the reason that a line of the trail gives, worded for a terminal if it is a refusal's; null: it gives none. Of a
 * lock it says what was, without advice for the one who asked then.
 */
export function trailReason(line: TrailRefusal): string | null {
  const { would } = line;
  const reason = decisionReason(line);
  if (would === undefined) return reason;
  return `${wouldWords[would]}, as Kite only observed${reason === null ? "" : `: ${reason}`}`;
}

const wouldWords: Readonly<Record<TrailWould, string>> = {
  wait: "did not wait",
  deny: "was not denied",
  tell: "was told nothing",
};

function decisionReason({
  code = null,
  why = null,
  holder = null,
  file = null,
}: TrailRefusal): string | null {
  if (code === null) return why === null ? null : withPersonName(why);
  const resource = file !== null && isResource(file) ? file : undefined;
  const it = resource ?? "the file";
  if (code === "lock_held" && holder !== null) return `${holder} had ${it}`;
  if (code === "lock_queue_full" && holder !== null)
    return `${holder} had ${it}, and as many waited for it as may`;
  const error = why ?? (Object.hasOwn(codes, code) ? codes[code as Code] : code);
  return refusalText({ code, error, locked_by_name: holder, file: resource }, "terminal");
}

/** The published sentences about locks: they say an id where the refusal also has a name. */
function ofLocks(refusal: Refused, reader: Reader): string | null {
  const isYours = refusal.yours === true;
  const holder = isYours ? "another command of this session" : text(refusal.locked_by_name);
  const file = text(refusal.file) ?? "the file";
  const ago = refusal.locked_ago;
  const has = typeof ago === "number" ? `has had ${file} for ${ago} s` : `has ${file}`;
  const wait =
    reader === "terminal" ? "to wait for it: --wait SECONDS" : "ask again with waitMs, which waits";
  switch (refusal.code) {
    case "lock_held":
      if (refusal.use === "kept") return keptText(refusal, reader);
      if (refusal.lent === true || /^your agent /.test(refusal.error)) return null;
      if (holder === null) return "another agent has the file";
      return `${holder} ${has}; ${wait}`;
    case "lock_queue_full":
      if (holder === null) return "another agent has the file, and as many wait for it as may";
      return `${holder} ${has}, and as many wait for it as may${typeof ago === "number" ? "; try again later" : ""}`;
    case "lock_timeout": {
      const [, seconds] = /\((\d+(?:\.\d+)?)s\)/.exec(refusal.error) ?? [];
      const waited = seconds === undefined ? "in time" : `within ${seconds} s`;
      const send = reader === "terminal" ? "kite message send" : "kite_message";
      const ask = isYours ? "" : `, ask ${holder} for it (${send})`;
      const next = holder === null ? "" : `; ${holder} has it. Ask again${ask}, or do something else first`;
      return `${file} did not get free ${waited}${next}`;
    }
    // A client's library repeats the request by its id; nobody who reads this has that id.
    case "outcome_unknown":
      return refusal.error.replace(/: [^:]*\brequestId$/, ": look whether it was done, then try again");
    case "already_queued":
      return "you wait for this file already; the earlier request gets it";
    case "task_state":
      return refusal.error
        .replace(
          /^(\S+)( is \w+; only finished tasks can be removed) \(cancel it first\)$/,
          "$1$2; cancel it first: kite task cancel $1",
        )
        .replace(/^(\S+)( is pending; nobody works on it)$/, "$1$2; to take it: kite task claim $1");
    case "unknown_message":
      return refusal.error.replace(
        /name the recipient with to$/,
        "name the recipient: kite message send NAME TEXT",
      );
    case "task_blocked":
      return refusal.error.replace(
        /^blocked by unfinished dependencies: (.*)$/,
        "the task waits for $1 to be done; kite task ready lists those that can begin now",
      );
    case "too_many_holds":
      return refusal.error.replace(
        /^(you have the freezes (h-\w+)\b.*; end one first)$/,
        reader === "terminal" ? "$1: kite thaw $2" : "$1 (kite_thaw)",
      );
    default:
      return null;
  }
}

/** What an edit is told of such a lock: who has it, and that it ends only with the holder's work. */
function keptText({ locked_by_name, locked_ago, file, path, held, dir }: Refused, reader: Reader): string {
  const holder = text(locked_by_name) ?? "another agent";
  const target = text(file) ?? "the file";
  const has = text(held) ?? target;
  const what = dir === true ? `the directory ${has}/` : has;
  const since = typeof locked_ago === "number" ? `, for ${duration(locked_ago * 1000)} now` : "";
  const isInside = text(path)?.startsWith(`${has}/`) === true;
  const where = path === held ? "" : isInside ? `, and ${target} is in it` : `, and that is in ${target}`;
  const [send, wait] =
    reader === "terminal" ? ["kite message send", "--wait SECONDS"] : ["kite_message", "waitMs"];
  const next = `work on something else and try again later, ask ${holder} to release it (${send}), or wait: ${wait}`;
  return `${holder} has locked ${what} until its work is done${since}${where}; ${next}`;
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
