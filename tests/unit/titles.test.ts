/** What a session is about: which records of its client's transcript say so, and which files are read for it. */
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Titles } from "../../bin/context/terminals.ts";
import { wordsIn } from "../../hooks/claude-code/transcripts.ts";
import type { TranscriptRow } from "../../protocol/schemas/session.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { fakeDaemon, fakeWorld } from "./command-world.ts";

const id = "f837f7d9-9968-47e8-bfc6-86ac27985b41";
const line = (value: object) => `${JSON.stringify(value)}\n`;
const ai = (aiTitle: unknown, sessionId: string = id) => line({ type: "ai-title", aiTitle, sessionId });
const custom = (customTitle: string) => line({ type: "custom-title", customTitle, sessionId: id });
const prompt = (lastPrompt: string) =>
  line({ type: "last-prompt", lastPrompt, leafUuid: "u", sessionId: id });
const user = (content: string) => line({ type: "user", message: { role: "user", content }, sessionId: id });

describe("the words of a transcript", () => {
  it("are the latest title of the client, else the one of a person, and the latest prompt", () => {
    const text =
      ai("Mend the parser") + user("go on") + custom("parsers") + ai(" Page the list ") + prompt("go on");
    expect(wordsIn(text, id)).toEqual({ title: "Page the list", prompt: "go on" });
    expect(wordsIn(custom("parsers"), id)).toEqual({ title: "parsers", prompt: null });
    expect(wordsIn(user("hello"), id)).toEqual({ title: null, prompt: null });
  });

  it("are not taken from what was said, from another session, or from a line that is cut or no record", () => {
    const none = [
      user(ai("said by a prompt").trim()),
      `x${ai("within a line")}`,
      ai("of another session", "other"),
      ai("cut").slice(0, -20),
      ai(7),
      ai(" "),
      '{"type":"ai-title",oops}\n',
    ];
    for (const text of none)
      expect(wordsIn(ai("before") + text, id).title, text).toBe(text === ai(" ") ? null : "before");
    expect(wordsIn("", id)).toEqual({ title: null, prompt: null });
  });
});

describe("the titles of sessions", () => {
  const folder = temporaryFolder("kite-titles-");
  mkdirSync(folder, { recursive: true });

  async function titleIn(transcript: string, titles: TranscriptRow["titles"] = "client") {
    const rows = [{ id, project: "/p", transcript, titles }];
    const daemon = fakeDaemon({ "query transcripts": { ok: true, rows } });
    const client = await fakeWorld({ daemon }).connect({ name: "test" });
    return { read: new Titles(), client, daemon };
  }
  const fileIn = (name: string) => {
    mkdirSync(join(folder, name));
    return join(folder, name, `${id}.jsonl`);
  };

  it("are read from the end of a long file, else from its beginning, and again only when it has grown", async () => {
    const file = fileIn("long");
    const filler = user("x".repeat(1_000)).repeat(200);
    writeFileSync(file, ai("At the beginning") + filler);
    const { read, client } = await titleIn(file);
    expect([...(await read.read(client))]).toEqual([[id, "At the beginning"]]);
    appendFileSync(file, ai("At the end"));
    expect([...(await read.read(client))]).toEqual([[id, "At the end"]]);
    // Once the end says nothing more, the beginning is older than what is known.
    appendFileSync(file, filler);
    expect((await read.read(client)).get(id)).toBe("At the beginning");
  });

  it("are words of the latest prompt where the setting says so, and none without an answer", async () => {
    const file = fileIn("prompt");
    writeFileSync(file, ai("Title") + prompt(`Do it ${"now ".repeat(200)}`));
    const { read, client, daemon } = await titleIn(file, "prompt");
    const shown = (await read.read(client)).get(id) ?? "";
    expect(shown.startsWith("Do it now")).toBe(true);
    expect(shown.length).toBe(200);
    daemon.answers["query transcripts"] = { ok: false, code: "person_only", error: "only a person" };
    expect((await new Titles().read(client)).size).toBe(0);
  });

  it("are never read through a link, from a pipe, or from a file of another name", async () => {
    const real = fileIn("real");
    writeFileSync(real, ai("Secret"));
    const link = fileIn("link");
    symlinkSync(real, link);
    const pipe = fileIn("pipe");
    execFileSync("mkfifo", [pipe]);
    const other = join(folder, "real", "notes.txt");
    writeFileSync(other, ai("Secret"));
    for (const file of [link, pipe, other, join(folder, "none", `${id}.jsonl`), folder]) {
      const { read, client } = await titleIn(file);
      expect((await read.read(client)).size, file).toBe(0);
    }
  });
});
