/** No sentence of the daemon reaches a person or an agent with the wire's words in it. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { Refused } from "../../bin/context/with-daemon.ts";
import { refusalText, trailReason } from "../../bin/refusal-text.ts";
import { codes, type Refusal } from "../../protocol/codes.ts";
import { requests } from "../../protocol/schemas/requests.ts";

const daemon = fileURLToPath(new URL("../../daemon", import.meta.url));
const types = Object.keys(requests).filter(type => type.includes("_"));

/** Every text of the daemon that is a sentence. */
function sentences(): string[] {
  const found: string[] = [];
  for (const folder of ["core", "requests", "lead", "server", "engine", "store", "journal"]) {
    for (const name of readdirSync(join(daemon, folder), { recursive: true, encoding: "utf8" })) {
      if (!name.endsWith(".ts")) continue;
      const code = readFileSync(join(daemon, folder, name), "utf8").replace(
        /\/\*[\s\S]*?\*\/|\/\/[^\n]*/g,
        "",
      );
      for (const [text] of code.matchAll(/"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`/g)) {
        if (text.split(" ").length > 3) found.push(text.slice(1, -1).replace(/\$\{[^}]*\}/g, "X"));
      }
    }
  }
  return found;
}

/** Sources of the commands and tools that take a refusal's sentence as it came. */
function unworded(): string[] {
  const bin = fileURLToPath(new URL("../../bin", import.meta.url));
  const names = readdirSync(bin, { recursive: true, encoding: "utf8" }).filter(name => name.endsWith(".ts"));
  return names.filter(name => {
    const text = readFileSync(join(bin, name), "utf8");
    // The wording itself, and a refusal that is worded with what follows it.
    if (text.includes("export function refusalText(")) return false;
    return /\b(?:answer|reply|refusal)\.error\b(?!\}\. Next: )/.test(text);
  });
}

const refusal = (code: string, error: string, more: object = {}): Refusal =>
  ({ ok: false, code, error, ...more }) as Refusal;

/** A sentence that begins with a request is about a wrong value of its. */
const coded = (text: string) => refusal(/^[a-z_]+: /.test(text) ? "invalid_request" : "x", text);

describe("a refusal", () => {
  it("names commands at a terminal, and tools to an agent, whatever request it came from", () => {
    const named = new RegExp(`\\b(?:${types.join("|")}|waitMs|ifVersion|replyTo|dependsOn|requestId)\\b`);
    const all = sentences().filter(text => named.test(text));
    expect(all.length).toBeGreaterThan(3);
    const left = all.map(text => refusalText(coded(text), "terminal")).filter(text => named.test(text));
    expect(left).toEqual([]);
    const byType = new RegExp(`\\b(?:${types.join("|")})\\b`);
    const leftToAgents = all
      .map(text => refusalText(coded(text), "tools"))
      .filter(text => byType.test(text.replace(/\bkite_\w+/g, "")));
    expect(leftToAgents).toEqual([]);
  });

  it("is worded wherever a command or a tool shows it", () => {
    expect(unworded()).toEqual([]);
    const raw = refusal("x", "the project has no key a; context_list shows its keys");
    expect(new Refused(raw).message).toBe("the project has no key a; kite context list shows its keys");
  });

  it("that names a request which an agent has a tool for names that tool", () => {
    const text = refusalText(refusal("task_state", "t-1 is active; give it back with task_release"), "tools");
    expect(text).toBe("t-1 is active; give it back with kite_task_release");
  });

  it("names no command to an agent for what it has a tool for, but what its user types", () => {
    const shell = /\bkite (?:task (?:list|ready|show)|debate|context|message send)\b/;
    const all = sentences().filter(text => shell.test(text));
    expect(all.length).toBeGreaterThan(3);
    const left = all.map(text => refusalText(coded(text), "tools")).filter(text => shell.test(text));
    // A person's command, behind words that say so.
    expect(left.filter(text => !/\b(?:user|person)\b.*kite/.test(text))).toEqual([]);
    const asks = refusal("risk_held", "t-1 is red; ask your user: kite task approve t-1");
    expect(refusalText(asks, "tools")).toBe("t-1 is red; ask your user: kite task approve t-1");
  });

  it("of a task that has ended says how to open it again, where the wire says a status", () => {
    const ended = refusal("task_state", "t-1 is done by ann; set it to pending to begin it anew");
    expect(refusalText(ended, "terminal")).toBe("t-1 is done by ann; open it again: kite task retry t-1");
  });

  it.each([
    [
      "lock_held",
      "file locked by 8f14e45f; ask again with waitMs to wait for it",
      "alice has had src/a.ts for 12 s; to wait for it: --wait SECONDS",
    ],
    [
      "lock_queue_full",
      "file locked by 8f14e45f, queue full",
      "alice has had src/a.ts for 12 s, and as many wait for it as may; try again later",
    ],
    [
      "lock_timeout",
      "lock queue timeout (30s)",
      "src/a.ts did not get free within 30 s; alice has it. Ask again, ask alice for it (kite message send), or do something else first",
    ],
    [
      "already_queued",
      "already queued for this file",
      "you wait for this file already; the earlier request gets it",
    ],
  ])("%s says who holds by name, and no id", (code, error, said) => {
    const more = { file: "src/a.ts", locked_by: "8f14e45f-0000", locked_by_name: "alice", locked_ago: 12 };
    expect(refusalText(refusal(code, error, more), "terminal")).toBe(said);
  });

  it("that nobody is named in says no id either, as in a list of refusals", () => {
    const plain = (code: string, error: string) => refusalText({ code, error }, "terminal");
    expect(plain("lock_held", "file locked by 8f14e45f; ask again with waitMs to wait for it")).toBe(
      "another agent has the file",
    );
    expect(plain("lock_queue_full", "file locked by 8f14e45f, queue full")).toBe(
      "another agent has the file, and as many wait for it as may",
    );
    expect(plain("lock_timeout", "lock queue timeout (30s)")).toBe("the file did not get free within 30 s");
    const lent =
      "your agent Explore is using src/a.ts and will return it to you; ask again with waitMs to wait";
    expect(plain("lock_held", lent)).toBe(
      "your agent Explore is using src/a.ts and will return it to you; ask again with --wait to wait",
    );
  });

  it("of an unknown outcome says what its reader can do, who has no id of the request", () => {
    const all = sentences().filter(text => /\bthe same requestId\b/.test(text));
    const said = (text: string, reader: "terminal" | "tools") =>
      refusalText(refusal("outcome_unknown", text), reader);
    for (const reader of ["terminal", "tools"] as const)
      expect(all.map(text => said(text, reader)).sort()).toEqual([
        "the shared store has not answered yet: look whether it was done, then try again",
      ]);
    const conflict = "requestId r-1 came before with another body; give a new request a new requestId";
    expect(refusalText(refusal("request_conflict", conflict), "terminal")).toBe(
      "id r-1 came before with another body; give a new request a new id",
    );
  });

  it("of a wrong value names neither the request nor its parameter's path", () => {
    const wrong = refusal("invalid_request", "task_create: dependsOn: expected a list");
    expect(refusalText(wrong, "terminal")).toBe("--needs: expected a list");
    expect(refusalText(refusal("invalid_request", "one: two"), "tools")).toBe("one: two");
  });

  it("of which the log has the code alone is told in words, without the fields of the wire", () => {
    expect(trailReason({ code: "lock_deadlock" })).toBe("waiting would close a deadlock");
    expect(trailReason({ code: "edits_held" })).toBe("another actor, or a person, froze the file");
    const told = Object.keys(codes).map(code => trailReason({ code }) ?? "");
    expect(told.filter(text => text.includes("`"))).toEqual([]);
  });
});
