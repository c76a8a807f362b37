import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { lstatSync, mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { lockMethods } from "../../daemon/instance/instance.ts";
import { limits } from "../../protocol/limits.ts";

let top = "";
let program = "";
const started: ChildProcess[] = [];

beforeAll(async () => {
  top = mkdtempSync(join(tmpdir(), "ki-"));
  program = join(top, "starter.mjs");
  await build({
    entryPoints: [fileURLToPath(new URL("instance-starter.ts", import.meta.url))],
    bundle: true,
    platform: "node",
    format: "esm",
    outfile: program,
    logLevel: "warning",
  });
});
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});
afterAll(() => rmSync(top, { recursive: true, force: true }));

interface Starter {
  readonly child: ChildProcess;
  /** The first word it says. */
  readonly said: Promise<string>;
}

function start(home: string, method: string, waitMs: number): Starter {
  const child = spawn(process.execPath, [program, method, String(waitMs)], {
    env: { KITE_HOME: home, PATH: process.env["PATH"] ?? "" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  started.push(child);
  const said = once(child.stdout, "data").then(([data]) => String(data).trim());
  return { child, said };
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

/** The pid of whoever serves the socket. */
async function servedBy(home: string): Promise<number> {
  const socket = connect(join(home, "kite.sock"));
  const [data] = await once(socket, "data");
  socket.destroy();
  return Number(String(data));
}

async function onlyOne(starters: readonly Starter[]): Promise<ChildProcess> {
  const said = await Promise.all(starters.map(s => s.said));
  const winners = starters.filter((_, i) => said[i] === "acquired");
  expect(said.filter(word => word !== "acquired")).toEqual(Array(starters.length - 1).fill("held"));
  const [winner] = winners;
  if (winner === undefined) throw new Error("nobody became the daemon");
  return winner.child;
}

const twenty = Array.from({ length: 20 });
const methods = lockMethods(process.env).map(method => method.name);

test.each(methods)("twenty starters at once give one daemon, by %s", async method => {
  const home = join(top, method.slice(0, 4));
  const winner = await onlyOne(twenty.map(() => start(home, method, 0)));
  expect(await servedBy(home)).toBe(winner.pid);
  const late = start(home, method, 0);
  expect(await late.said).toBe("held");
  expect(await servedBy(home)).toBe(winner.pid);
});

test("after a kill the socket is stale, and twenty who wait give one daemon again", async () => {
  const home = join(top, "kill");
  const first = start(home, "any", 0);
  expect(await first.said).toBe("acquired");
  const waiting = start(home, "any", limits.startWaitMs);
  await kill(first.child);
  expect(lstatSync(join(home, "kite.sock")).isSocket()).toBe(true);
  const rest = twenty.map(() => start(home, "any", 0));
  const winner = await onlyOne([waiting, ...rest]);
  expect(await servedBy(home)).toBe(winner.pid);
});
