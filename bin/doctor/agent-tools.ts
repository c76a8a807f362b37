/** Checks the tools for agents: whether the client's file lists the server, and whether the server starts. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import {
  hasTools,
  placesWithTools,
  projectSettings,
  userSettings,
} from "../../hooks/claude-code/settings/files.ts";
import { InstallFailed } from "../../hooks/install/file.ts";
import { mcpPath } from "../../hooks/install/program.ts";
import { jsonProblem } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { shellArgument } from "../../protocol/text.ts";
import { defined } from "../defined.ts";
import type { ProcessContext } from "../process-context.ts";
import type { Check } from "../view/doctor.ts";
import { type Advice, advise, aside, fail, ok, warn } from "./advice.ts";
import { unfit } from "./copies.ts";
import { emptied, textForClient, type Unreadable } from "./installed.ts";
import { adviseInstall } from "./obstacles.ts";
import { damaged, oddFile } from "./odd-file.ts";

const check = "agent tools";

/** Returns no check if the tools were never installed: Kite works without them. */
export async function checkAgentTools(world: ProcessContext): Promise<Check[]> {
  const again = (project: string | null) =>
    adviseInstall(
      world,
      "install again",
      project === null ? "kite install" : `kite install --project ${shellArgument(project)}`,
      project === null ? userSettings(world.env) : projectSettings(project),
    );
  const odd = oddFile(world.paths.servers);
  if (odd !== null) {
    const detail = `${odd.what}, so Kite does not know where its tools are`;
    const { line } = odd;
    return [
      fail(
        check,
        detail,
        line === null ? odd.advice : advise("mend it, and install again", line, "kite install"),
      ),
    ];
  }
  try {
    const places = placesWithTools(world.paths).filter(
      ({ project }) => project === null || existsSync(project),
    );
    const broken = places.map(({ file }) => problemOf(file)).find(problem => problem !== null);
    if (broken) {
      const { unreadable, advice } = broken;
      const todo = typeof advice === "string" ? `${advice}; Claude Code starts no tools until then` : advice;
      return [fail(check, unreadable, todo)];
    }
    const gone = places.filter(place => !hasTools(world.paths, place));
    const checks: Check[] = gone.map(({ file, project }) => {
      const where = project === null ? file : `${file}, for ${project}`;
      return warn(check, `the entry was removed: ${where}`, again(project));
    });
    return places.length === gone.length
      ? checks
      : [...checks, await started(mcpPath(world.paths.bin), world, again(places[0]?.project ?? null))];
  } catch (error) {
    if (!(error instanceof InstallFailed)) throw error;
    const { servers } = world.paths;
    const advice = advise("put it aside, and install again", aside(servers), "kite install");
    return [fail(check, damaged(servers), advice)];
  }
}

/** Returns why the client cannot read its file of servers, or null. */
function problemOf(file: string): Unreadable | null {
  const read = textForClient(file, limits.clientFileBytes);
  if ("unreadable" in read) return read;
  if (read.text === null) return null;
  if (read.text.trim() === "") return { unreadable: `${file} is empty`, advice: emptied(file) };
  const problem = jsonProblem(read.text);
  return problem === null
    ? null
    : { unreadable: `${file} is no JSON: ${problem}`, advice: "correct that place" };
}

/** Starts the program as the client does, and requests its list of tools. */
async function started(program: string, { env }: ProcessContext, again: Advice | string): Promise<Check> {
  const reason = unfit(program);
  if (reason !== null) return fail(check, `${reason}, so no agent has Kite's tools`, again);
  const began = performance.now();
  const { HOME, PATH } = env;
  const child = spawn(program, [], {
    env: defined({ HOME, PATH }),
    stdio: ["pipe", "pipe", "ignore"],
    timeout: limits.mcpStartMs,
    killSignal: "SIGKILL",
  });
  const count = await toolsOf(child);
  child.stdin.end();
  if (count !== null) {
    const ms = (performance.now() - began).toFixed(0);
    return ok(check, `${program}: ${count} tools in ${ms} ms`);
  }
  return fail(check, `${program} does not answer`, again);
}

/** Returns the number of the server's tools; null if the server ends without an answer. */
function toolsOf(child: ChildProcessByStdio<Writable, Readable, null>): Promise<number | null> {
  return new Promise(resolve => {
    child.once("error", () => resolve(null));
    child.once("close", () => resolve(null));
    // If the server ended at once, its "close" event says so.
    child.stdin.on("error", () => undefined);
    createInterface({ input: child.stdout }).on("line", line => {
      const count = /"id":2[,}]/.test(line) ? line.match(/"inputSchema":/g)?.length : undefined;
      if (count !== undefined) resolve(count);
    });
    const say = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const clientInfo = { name: "kite doctor", version: "1" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    say({ id: 1, method: "initialize", params });
    say({ method: "notifications/initialized" });
    say({ id: 2, method: "tools/list" });
  });
}
