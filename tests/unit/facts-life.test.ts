/** Looks at real processes and real files. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import type { Anchor } from "../../daemon/core/frame/actors.ts";
import { BudgetedFs } from "../../daemon/facts/filesystem.ts";
import {
  AnchorWatch,
  lifeSigns,
  likelySubagent,
  processAnchor,
  youngestChildMs,
} from "../../daemon/facts/processes.ts";
import { lifeFiles } from "../../hooks/claude-code/transcripts.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const session = "65bca144-cfa5-454f-b470-e84bd4e53d4c";
const started: ChildProcess[] = [];
const home = temporaryFolder("kite-life-");

afterAll(() => {
  for (const child of started) {
    child.kill("SIGCONT");
    child.kill("SIGKILL");
  }
});

/** A shell that waits for lines; `sleep` in one begins a child. */
async function shell(): Promise<{ child: ChildProcess; anchor: Anchor }> {
  const child = spawn("/bin/sh", ["-c", "echo up; while read line; do $line & echo begun; done"], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  started.push(child);
  await once(child.stdout ?? child, "data");
  const anchor = processAnchor(child.pid ?? 0);
  if (anchor === null) throw new Error("a process that was started should be seen");
  return { child, anchor };
}

it("tells how long the youngest child of a process has run", async () => {
  const { child, anchor } = await shell();
  expect(youngestChildMs(anchor)).toBe(process.platform === "linux" ? "none" : "unknown");
  child.stdin?.write("sleep 600\n");
  await once(child.stdout ?? child, "data");
  const ms = youngestChildMs(anchor);
  if (process.platform !== "linux") {
    expect(ms).toBe("unknown");
    return;
  }
  expect(ms).toBeTypeOf("number");
  // Times of processes are counted in hundredths of a second.
  expect(Number(ms)).toBeGreaterThanOrEqual(-10);
  expect(youngestChildMs({ ...anchor, startTime: "another" })).toBe("unknown");
});

it("tells once that a signal stopped a process, and once that it runs on", async () => {
  const { child, anchor } = await shell();
  const watch = new AnchorWatch();
  const told: string[] = [];
  watch.onStopped((key, isStopped) => told.push(`${key} ${isStopped}`));
  watch.add("a", anchor);
  await watch.look();
  const until = async (count: number) => {
    while (told.length < count) await watch.look();
  };
  child.kill("SIGSTOP");
  await until(1);
  await watch.look();
  child.kill("SIGCONT");
  await until(2);
  await watch.look();
  watch.close();
  expect(told).toEqual(["a true", "a false"]);
});

it("reads the end of a transcript and the status of the process, and nothing else", async () => {
  const { anchor } = await shell();
  const folder = join(home, "projects", "p");
  mkdirSync(folder, { recursive: true });
  mkdirSync(join(home, "sessions"));
  const transcript = join(folder, `${session}.jsonl`);
  const asked = { session, agent: null, transcript, anchor };
  const outside = new BudgetedFs();
  expect(await lifeSigns(outside, [lifeFiles], asked)).toMatchObject({ transcript: null, status: null });

  writeFileSync(transcript, `${"x".repeat(400_000)}\n`);
  appendFileSync(transcript, `${JSON.stringify({ type: "user", message: { content: "Do it." } })}\n`);
  writeFileSync(
    join(home, "sessions", `${anchor.pid}.json`),
    JSON.stringify({ sessionId: session, status: "busy" }),
  );
  const found = await lifeSigns(outside, [lifeFiles], asked);
  expect(found).toMatchObject({ transcript: { end: "model" }, status: { status: "busy" } });
  expect(found.transcript?.sizeBytes).toBeGreaterThan(400_000);
  expect(await lifeSigns(outside, [], asked)).toMatchObject({ transcript: null, status: null });
  expect(await lifeSigns(outside, [lifeFiles], { ...asked, anchor: null })).toMatchObject({
    childMs: "unknown",
  });
});

it("reads who acts at the end of a transcript, whatever its size and whoever writes it meanwhile", async () => {
  const folder = join(home, "projects", "q");
  mkdirSync(folder, { recursive: true });
  const transcript = join(folder, `${session}.jsonl`);
  const outside = new BudgetedFs();
  const acting = (path = transcript) => likelySubagent(outside, [lifeFiles], { session, transcript: path });
  const line = (id: string, subagent_type: string, pad = "") =>
    `${JSON.stringify({
      type: "assistant",
      message: { content: [{ type: "tool_use", id, name: "Task", input: { subagent_type, pad } }] },
    })}\n`;

  expect(await acting()).toBeNull();
  writeFileSync(transcript, "");
  expect(await acting()).toBeNull();

  // Each byte of the end's first character may be the first that is read.
  const end = line("b", "reviewer");
  for (let cut = 0; cut < 4; cut += 1) {
    const before = 256 * 1024 - end.length - 1 - cut;
    writeFileSync(
      transcript,
      `${line("a", "other", "🪁".repeat(90_000)).trimEnd()}${"\n".repeat(before % 2)}`,
    );
    appendFileSync(transcript, `${" ".repeat(cut)}\n${end}`);
    expect(await acting(), `${cut}`).toMatchObject({ type: "reviewer", others: 0 });
  }

  // The client is in the middle of a line.
  appendFileSync(transcript, line("c", "late").slice(0, -20));
  expect(await acting()).toMatchObject({ type: "reviewer" });
  appendFileSync(transcript, line("c", "late").slice(-20));
  expect(await acting()).toMatchObject({ type: "late", others: 1 });

  // Older than the lines that are read.
  appendFileSync(transcript, `${JSON.stringify({ type: "progress" })}\n`.repeat(200));
  expect(await acting()).toBeNull();

  writeFileSync(transcript, "");
  truncateSync(transcript, 2 ** 30);
  appendFileSync(transcript, `\n${end}`);
  const began = process.memoryUsage().arrayBuffers;
  expect(await acting()).toMatchObject({ type: "reviewer" });
  expect(process.memoryUsage().arrayBuffers - began).toBeLessThan(8 * 1024 * 1024);

  expect(await acting(join(home, "elsewhere", `${session}.jsonl`))).toBeNull();
  expect(await likelySubagent(outside, [], { session, transcript })).toBeNull();
});

it("reads who acts while the client writes", async () => {
  const folder = join(home, "projects", "r");
  mkdirSync(folder, { recursive: true });
  const transcript = join(folder, `${session}.jsonl`);
  const content = [{ type: "tool_use", id: "a", name: "Task", input: { subagent_type: "reviewer" } }];
  writeFileSync(transcript, `${JSON.stringify({ type: "assistant", message: { content } })}\n`);
  // Half a line, then its rest: fewer lines in all than are read.
  const script = `for i in $(seq 100); do printf '{"type":'; printf '"progress"}\\n'; done >> "$0"`;
  const writer = spawn("/bin/sh", ["-c", script, transcript]);
  started.push(writer);
  const outside = new BudgetedFs();
  let hasEnded = false;
  writer.once("exit", () => {
    hasEnded = true;
  });
  while (!hasEnded)
    expect(await likelySubagent(outside, [lifeFiles], { session, transcript })).toMatchObject({
      type: "reviewer",
    });
});
