/** Tries the perl client before `kite install` chooses it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errorText } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { perlCommand } from "./hook-program.ts";

const event = { hook_event_name: "SessionStart", session_id: "kite-install", prompt: 'a\n"b" 漢' };
const words = "all is well\n";

/**
 * Runs the perl client once against a fake daemon that answers one event. Returns null if that works, else what went
 * wrong, in a few words. So `install` chooses only a client that works on this machine.
 */
export async function tryPerl(pl: string): Promise<string | null> {
  const home = mkdtempSync(join(tmpdir(), "kite-try-"));
  let heard = false;
  const server = standIn(line => {
    heard = line.includes(JSON.stringify(event));
  });
  try {
    server.listen(join(home, "kite.sock"));
    await once(server, "listening");
    const { code, stdout } = await run(pl, home);
    if (code === 0 && heard && stdout === words) return null;
    if (!heard) return "it did not reach a daemon";
    return `it answered wrongly (exit ${code})`;
  } catch (error) {
    // On any failure `install` uses the other client.
    return errorText(error);
  } finally {
    server.close();
    rmSync(home, { recursive: true, force: true });
  }
}

function standIn(onLine: (line: string) => void): Server {
  return createServer(socket => {
    let text = "";
    socket.on("error", () => socket.destroy());
    socket.on("data", chunk => {
      text += chunk.toString();
      if (!text.includes("\n")) return;
      onLine(text);
      socket.end(`0 ${Buffer.byteLength(words)} 0 0\n${words}`);
    });
  });
}

async function run(
  pl: string,
  home: string,
): Promise<{ readonly code: number | null; readonly stdout: string }> {
  const { command, args } = perlCommand(pl, home, [String(limits.hookStartBudgetMs)]);
  const child = spawn(command, args, {
    env: {},
    stdio: ["pipe", "pipe", "ignore"],
    timeout: limits.hookStartTimeoutMs,
    killSignal: "SIGKILL",
  });
  let stdout = "";
  child.stdout.on("data", chunk => {
    stdout += chunk.toString();
  });
  // If the client ended before it read the event, its answer shows it.
  child.stdin.on("error", () => undefined);
  child.stdin.end(JSON.stringify(event));
  const [code] = await once(child, "close");
  return { code, stdout };
}
