/**
 * Asks the client itself about its hooks, through its own app-server: which it trusts, and to trust Kite's. Nobody but the
 * client computes the hash of an entry: its form has no contract.
 */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { limits } from "../../protocol/limits.ts";
import { isObject } from "../../protocol/wire.ts";
import { InstallFailed, isCode } from "./file.ts";

/** A hook as the client lists it. */
export interface ListedHook {
  readonly key: string;
  readonly command: string;
  /** The file that it stands in. */
  readonly file: string;
  readonly hash: string;
  /** The client runs it: it is trusted as it is now, or needs no trust. */
  readonly isTrusted: boolean;
}

/** The hooks that the client runs, and what it says of files that it cannot read. */
interface HookList {
  readonly hooks: readonly ListedHook[];
  readonly warnings: readonly string[];
}

export interface AppServer {
  /** Returns the hooks of all projects. Throws InstallFailed if the client does not know such a question. */
  hooks(): Promise<HookList>;
  /** Has the client note in its settings that a person trusts these hooks as they are. */
  trust(hooks: readonly ListedHook[]): Promise<void>;
}

interface AppServerOptions {
  /** The client's program. */
  readonly program: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A directory that is no project: only hooks of all projects apply there. */
  readonly cwd: string;
  readonly version: string;
}

/**
 * Starts the client's app-server, which speaks over standard input and output, and ends it when `work` is done. All
 * together takes at most `appServerMs`. Throws InstallFailed if the client does not answer as this version of Kite knows it.
 */
export async function withAppServer<T>(
  { program, env, cwd, version }: AppServerOptions,
  work: (server: AppServer) => Promise<T>,
): Promise<T> {
  const child = spawn(program, ["app-server"], {
    cwd,
    env: { ...env },
    stdio: ["pipe", "pipe", "ignore"],
    // A group of its own: the program may be a script that starts another one.
    detached: true,
  });
  const closed = once(child, "close").catch(() => undefined);
  const overdue = setTimeout(() => endGroup(child.pid), limits.appServerMs);
  try {
    const talk = new Talk(child);
    await talk.ask("initialize", {
      clientInfo: { name: "kite", title: "Kite", version },
      capabilities: { experimentalApi: true },
    });
    talk.tell("initialized");
    return await work({
      hooks: async () => listed(await talk.ask("hooks/list", { cwds: [cwd] })),
      trust: async hooks => {
        const value = Object.fromEntries(hooks.map(({ key, hash }) => [key, { trusted_hash: hash }]));
        const edits = [{ keyPath: "hooks.state", value, mergeStrategy: "upsert" }];
        await talk.ask("config/batchWrite", { edits });
      },
    });
  } finally {
    child.stdin.end();
    const late = setTimeout(() => endGroup(child.pid), limits.appServerEndMs);
    await closed;
    clearTimeout(late);
    clearTimeout(overdue);
  }
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if (!isCode(error, "ESRCH")) throw error;
  }
}

/** Requests and replies, one JSON object a line. */
class Talk {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waiting = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: Error) => void }
  >();
  #last = 0;
  #end: InstallFailed | null = null;

  constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child;
    // If it ended at once, its end says so.
    child.stdin.on("error", () => undefined);
    child.once("error", () => this.#over("it cannot be started"));
    child.once("close", () => this.#over("it ended, or did not answer in time"));
    createInterface({ input: child.stdout }).on("line", line => this.#hear(line));
  }

  /** Throws InstallFailed if the client refuses it, or ends. */
  ask(method: string, params: object): Promise<unknown> {
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve, reject) => {
      if (this.#end !== null) {
        reject(this.#end);
        return;
      }
      this.#waiting.set(id, { resolve, reject });
      this.#say({ id, method, params });
    });
  }

  tell(method: string): void {
    this.#say({ method });
  }

  #say(message: object): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  /** What is no reply to a question of Kite's is of no concern. */
  #hear(line: string): void {
    let reply: unknown;
    try {
      reply = JSON.parse(line);
    } catch {
      return; // A line for people.
    }
    if (!isObject(reply) || typeof reply["id"] !== "number" || "method" in reply) return;
    const waiting = this.#waiting.get(reply["id"]);
    this.#waiting.delete(reply["id"]);
    if (!("error" in reply)) waiting?.resolve(reply["result"]);
    else waiting?.reject(unanswered(`it refused a question: ${messageOf(reply["error"])}`));
  }

  #over(why: string): void {
    this.#end ??= unanswered(why);
    for (const { reject } of this.#waiting.values()) reject(this.#end);
    this.#waiting.clear();
  }
}

function messageOf(error: unknown): string {
  return isObject(error) && typeof error["message"] === "string" ? error["message"] : "without a reason";
}

function unanswered(why: string): InstallFailed {
  return new InstallFailed(`Codex did not say which hooks it trusts: ${why}`);
}

function listed(result: unknown): HookList {
  const data = isObject(result) ? result["data"] : null;
  if (!Array.isArray(data)) throw unanswered("its list has a form that Kite does not know");
  const lists = data.filter(isObject);
  const all = (name: string) => lists.flatMap(one => (Array.isArray(one[name]) ? one[name] : []));
  const isText = (value: unknown) => typeof value === "string";
  return { hooks: all("hooks").flatMap(hookOf), warnings: all("warnings").filter(isText) };
}

function hookOf(hook: unknown): ListedHook[] {
  if (!isObject(hook)) return [];
  const { key, command, sourcePath, currentHash, trustStatus, isManaged, enabled } = hook;
  if (typeof key !== "string" || typeof command !== "string" || typeof currentHash !== "string") return [];
  const isTrusted = (trustStatus === "trusted" || isManaged === true) && enabled !== false;
  return [
    { key, command, file: typeof sourcePath === "string" ? sourcePath : "", hash: currentHash, isTrusted },
  ];
}
