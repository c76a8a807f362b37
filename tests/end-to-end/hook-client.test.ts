import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../protocol/limits.ts";

/** The bundled client as it is installed, against a daemon that does what each test says. */
const program = fileURLToPath(new URL("../../dist/hook.cjs", import.meta.url));
const payload = {
  session_id: "s",
  hook_event_name: "PreToolUse",
  tool_input: { content: 'a\n"b" 漢 \u2028' },
};
const silent = { code: 0, signal: null, stdout: "", stderr: "" };

let home: string;
let socketPath: string;
let daemon: FakeDaemon | null;
let children: ChildProcess[];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "kite-hook-"));
  chmodSync(home, 0o700);
  socketPath = join(home, "kite.sock");
  daemon = null;
  children = [];
});

afterEach(async () => {
  for (const child of children)
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  await daemon?.close();
  rmSync(home, { recursive: true, force: true });
});

type Act = (socket: Socket, line: string, daemon: FakeDaemon) => void;

/** Remembers every request and calls `act` with it; `greet` is called with every connection. */
class FakeDaemon {
  readonly requests: string[] = [];
  connections = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  static async at(
    path: string,
    act: Act,
    greet: (socket: Socket) => void = () => undefined,
  ): Promise<FakeDaemon> {
    const made = new FakeDaemon(act, greet);
    made.#server.listen(path);
    await once(made.#server, "listening");
    daemon = made;
    return made;
  }

  private constructor(act: Act, greet: (socket: Socket) => void) {
    this.#server = createServer(socket => {
      this.connections += 1;
      this.#sockets.add(socket);
      let parts: Buffer[] = [];
      greet(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("data", (chunk: Buffer) => {
        parts.push(chunk);
        if (!chunk.includes("\n")) return;
        const lines = Buffer.concat(parts).toString("utf8").split("\n");
        parts = [Buffer.from(lines.pop() ?? "")];
        for (const line of lines) {
          this.requests.push(line);
          act(socket, line, this);
        }
      });
    });
  }

  /** Stops listening (which removes the socket) and drops everybody. */
  async close(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

const answer = (fields: object = {}) => `${JSON.stringify({ ok: true, output: "", ...fields })}\n`;

interface Run {
  readonly stdin?: string | Buffer;
  readonly env?: Record<string, string>;
  readonly budget?: string;
}

function start({ stdin = JSON.stringify(payload), env = {}, budget = "52000" }: Run = {}) {
  const child = spawn(process.execPath, [program, budget], {
    env: { PATH: process.env["PATH"], KITE_HOME: home, ...env },
    stdio: "pipe",
  });
  children.push(child);
  child.stdin.on("error", () => undefined);
  child.stdin.end(stdin);
  return { child, ended: ending(child) };
}

async function ending(child: ChildProcess) {
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", chunk => {
    stdout += chunk;
  });
  child.stderr?.setEncoding("utf8").on("data", chunk => {
    stderr += chunk;
  });
  const [code, signal] = await once(child, "close");
  return { code, signal, stdout, stderr };
}

const run = (options: Run = {}) => start(options).ended;

describe("what is forwarded", () => {
  test("one hook request: the event as it came, the few variables that matter, the parent", async () => {
    const { requests } = await FakeDaemon.at(socketPath, socket => socket.write(answer()));
    const env = {
      CLAUDE_PID: "41",
      CLAUDE_PROJECT_DIR: "/p",
      CLAUDE_CODE_SESSION_ATTENDED: "1",
      CLAUDE_CODE_ENTRYPOINT: "cli",
      ANTHROPIC_API_KEY: "secret",
    };
    expect(await run({ env })).toEqual(silent);
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatch(/^\{"type":"hook","event":/);
    const { ANTHROPIC_API_KEY: _, ...known } = env;
    expect(JSON.parse(requests[0] ?? "")).toEqual({
      type: "hook",
      event: payload,
      env: known,
      ppid: process.pid,
    });
  });

  test("a variable longer than a request may carry is left out", async () => {
    const { requests } = await FakeDaemon.at(socketPath, socket => socket.write(answer()));
    await run({ env: { CLAUDE_PROJECT_DIR: "x".repeat(limits.pathBytes + 1), CLAUDE_PID: "4" } });
    expect(JSON.parse(requests[0] ?? "").env).toEqual({ CLAUDE_PID: "4" });
  });

  test.each([
    ["pretty-printed", JSON.stringify(payload, null, 2)],
    [
      "with CRLF and blank lines",
      `\r\n${JSON.stringify(payload, null, "\t").replaceAll("\n", "\r\n\r\n")}\r\n`,
    ],
    ["with a newline at its end", `${JSON.stringify(payload)}\n`],
  ])("a payload %s stays one line", async (_, stdin) => {
    const { requests } = await FakeDaemon.at(socketPath, socket => socket.write(answer()));
    expect(await run({ stdin })).toEqual(silent);
    expect(requests.map(line => JSON.parse(line).event)).toEqual([payload]);
  });

  test.each([
    ["a second line", '{"a":1}\n{"type":"shutdown"}'],
    ["an end of its own", '{"a":1},"type":"shutdown","x":{"b":1}'],
    ["an end and another request", '{}}\n{"type":"shutdown"}\n{"x":{}'],
    ["a bare value", '"x"'],
    ["a list", '[{"type":"shutdown"}]'],
    ["null", "null"],
    ["nothing", ""],
    ["white space", " \n\n "],
    ["half an object", '{"session_id":"s"'],
    ["a raw line break in a string", '{"a":"x\n{\\"type\\":\\"shutdown\\"}"}'],
    ["bytes that are not UTF-8", Buffer.from('{"a":"\xff\xf0\x9f\x98"}', "latin1")],
    ["depth without end", "[".repeat(200_000)],
    ["5 MB of noise", Buffer.alloc(5_000_000, 0xa7)],
    ["5 MB of newlines", "\n".repeat(5_000_000)],
  ])("from a payload with %s nothing is sent", async (_, stdin) => {
    const { requests } = await FakeDaemon.at(socketPath, socket => socket.write(answer({ output: "x" })));
    expect(await run({ stdin })).toEqual(silent);
    expect(requests).toEqual([]);
  });

  test("what looks like a request inside a payload is text and nothing else", async () => {
    const hostile = {
      type: "shutdown",
      text: '\n{"type":"shutdown"}\n',
      ["\n{}\r\n"]: '"}}\n',
      u: "\u0000\u001b\u0085\u2028\u2029",
      ["__proto__"]: { type: "shutdown" },
    };
    const stdin = JSON.stringify(hostile).replace(/\}$/, ',"__proto__":{"ok":true}}');
    const { requests } = await FakeDaemon.at(socketPath, socket => socket.write(answer()));
    expect(await run({ stdin })).toEqual(silent);
    expect(requests).toHaveLength(1);
    const sent = JSON.parse(requests[0] ?? "");
    expect(Object.keys(sent)).toEqual(["type", "event", "env", "ppid"]);
    expect(sent.type).toBe("hook");
    expect(JSON.stringify(sent.event)).toBe(JSON.stringify(JSON.parse(stdin)));
  });

  test("the longest line that a daemon takes is sent, one byte more is not", async () => {
    const { requests } = await FakeDaemon.at(
      socketPath,
      socket => socket.write(answer({ output: "x" })),
      socket => socket.write("\n"),
    );
    const fill = (bytes: number) => JSON.stringify({ a: "x".repeat(bytes) });
    await run({ stdin: fill(0) });
    const room = limits.hookLineBytes - Buffer.byteLength(`${requests[0]}\n`);
    expect(await run({ stdin: fill(room) })).toEqual({ ...silent, stdout: "x" });
    expect(Buffer.byteLength(`${requests[1]}\n`)).toBe(limits.hookLineBytes);
    expect(await run({ stdin: fill(room + 1) })).toEqual(silent);
    expect(requests).toHaveLength(2);
  });

  test("a payload that comes byte by byte is put together", async () => {
    const { requests } = await FakeDaemon.at(socketPath, socket => socket.write(answer()));
    const child = spawn(process.execPath, [program, "52000"], {
      env: { PATH: process.env["PATH"], KITE_HOME: home },
      stdio: "pipe",
    });
    children.push(child);
    const ended = ending(child);
    for (const byte of Buffer.from(JSON.stringify(payload))) {
      await new Promise(resolve => child.stdin.write(Buffer.of(byte), resolve));
    }
    child.stdin.end();
    expect(await ended).toEqual(silent);
    expect(requests.map(line => JSON.parse(line).event)).toEqual([payload]);
  });

  test("without KITE_HOME it is .kite in the home directory", async () => {
    const { requests } = await FakeDaemon.at(join(home, "k.sock"), socket => socket.write(answer()));
    const inside = mkdtempSync(join(home, "user-"));
    const kite = join(inside, ".kite");
    renameSync(mkdtempSync(join(home, "dir-")), kite);
    renameSync(join(home, "k.sock"), join(kite, "kite.sock"));
    await run({ env: { KITE_HOME: "", HOME: inside } });
    expect(requests).toHaveLength(1);
  });
});

describe("what comes back", () => {
  test("output, exit code and error text as the daemon says, lines into the environment file", async () => {
    const envFile = join(home, "env");
    writeFileSync(envFile, "export A=1\n");
    const reply = {
      output: '{"x":"é\\n"}',
      exitCode: 2,
      stderr: "why\n",
      env: ["export B='2'", "export C='3'"],
    };
    await FakeDaemon.at(socketPath, socket => socket.write(answer(reply)));
    const ended = await run({ env: { CLAUDE_ENV_FILE: envFile } });
    expect(ended).toEqual({ code: 2, signal: null, stdout: reply.output, stderr: "why\n" });
    expect(readFileSync(envFile, "utf8")).toBe("export A=1\nexport B='2'\nexport C='3'\n");
  });

  test("lines for an environment file that cannot be written are dropped, the answer is not", async () => {
    await FakeDaemon.at(socketPath, socket => socket.write(answer({ output: "x", env: ["export B=1"] })));
    expect(await run({ env: { CLAUDE_ENV_FILE: join(home, "no", "env") } })).toEqual({
      ...silent,
      stdout: "x",
    });
    expect(await run()).toEqual({ ...silent, stdout: "x" });
  });

  test("an answer in pieces, after blank lines and events", async () => {
    await FakeDaemon.at(socketPath, async socket => {
      const bytes = Buffer.from(
        `\n \n{"type":"event","event":"lock_queued"}\n${answer({ output: "漢字😀" })}`,
      );
      for (const byte of bytes) await new Promise(resolve => socket.write(Buffer.of(byte), resolve));
    });
    expect(await run()).toEqual({ ...silent, stdout: "漢字😀" });
  });

  test.each([
    ["no JSON", "what?\n"],
    ["a refusal", '{"ok":false,"code":"internal_error","error":"x","output":"x"}\n'],
    ["restarting, though nothing was parked", '{"ok":false,"code":"restarting","error":"x"}\n'],
    ["no output", '{"ok":true}\n'],
    ["output of another type", '{"ok":true,"output":{"a":1}}\n'],
    ["an exit code out of range", '{"ok":true,"output":"x","exitCode":300}\n'],
    ["an exit code of another type", '{"ok":true,"output":"x","exitCode":"2"}\n'],
    ["error text of another type", '{"ok":true,"output":"x","exitCode":2,"stderr":2}\n'],
    ["lines of another type", '{"ok":true,"output":"x","env":[1]}\n'],
    ["a list", '[{"ok":true,"output":"x"}]\n'],
    ["null", "null\n"],
    ["a line longer than any reply", "x".repeat(limits.lineBytes + 1)],
    ["half a line, then the end", '{"ok":true,"output":"x"'],
  ])("an answer that is %s: exit 0, no word, no second try", async (_, reply) => {
    const fake = await FakeDaemon.at(socketPath, socket => socket.end(reply));
    expect(await run()).toEqual(silent);
    expect(fake.connections).toBe(1);
  });
});

describe("fail open", () => {
  test("no daemon, no home, no place of one's own, or no socket there", async () => {
    expect(await run()).toEqual(silent);
    expect(await run({ env: { KITE_HOME: join(home, "no") } })).toEqual(silent);
    expect(await run({ env: { KITE_HOME: "relative" } })).toEqual(silent);
    writeFileSync(socketPath, "");
    expect(await run()).toEqual(silent);
  });

  test("a socket that nobody listens on any more", async () => {
    const gone = await FakeDaemon.at(join(home, "first"), () => undefined);
    renameSync(join(home, "first"), socketPath);
    await gone.close();
    expect(await run()).toEqual(silent);
  });

  test("a directory that others may write to is not trusted", async () => {
    const { requests } = await FakeDaemon.at(socketPath, socket => socket.write(answer({ output: "x" })));
    chmodSync(home, 0o770);
    expect(await run()).toEqual(silent);
    expect(requests).toEqual([]);
  });

  test("KITE=off: nothing is read and nobody asked", async () => {
    const fake = await FakeDaemon.at(socketPath, socket => socket.write(answer({ output: "x" })));
    const child = spawn(process.execPath, [program, "52000"], {
      env: { PATH: process.env["PATH"], KITE_HOME: home, KITE: "off" },
      stdio: "pipe",
    });
    children.push(child);
    expect(await ending(child)).toEqual(silent);
    expect(fake.connections).toBe(0);
  });

  test("a daemon that says nothing: over after the first byte's time, not the budget", async () => {
    const fake = await FakeDaemon.at(socketPath, () => undefined);
    expect(await run()).toEqual(silent);
    expect(fake.connections).toBe(1);
  });

  test.each(["400", "0", "soon", ""])("a parked request ends with the budget %j", async budget => {
    await FakeDaemon.at(socketPath, socket => socket.write("\n"));
    expect(await run({ budget })).toEqual(silent);
  });
});

describe("after parking", () => {
  test("a lost connection is made again, with the same bytes", async () => {
    const { requests } = await FakeDaemon.at(socketPath, (socket, _, fake) => {
      socket.write("\n");
      if (fake.requests.length < 3) socket.destroy();
      else socket.write(answer({ output: "granted" }));
    });
    expect(await run()).toEqual({ ...silent, stdout: "granted" });
    expect(new Set(requests).size).toBe(1);
    expect(requests).toHaveLength(3);
  });

  test("a daemon that is replaced: its successor gets the request and answers", async () => {
    const first = await FakeDaemon.at(socketPath, async (socket, _, fake) => {
      socket.write('\n{"ok":false,"code":"restarting","error":"come back"}\n');
      await fake.close();
      await FakeDaemon.at(socketPath, next => next.write(`\n${answer({ output: "granted" })}`));
    });
    expect(await run()).toEqual({ ...silent, stdout: "granted" });
    expect(daemon).not.toBe(first);
    expect(daemon?.requests).toEqual(first.requests);
  });

  test("nobody comes back: exit 0 without a word", async () => {
    await FakeDaemon.at(socketPath, (socket, _, fake) => {
      socket.write("\n");
      void fake.close();
    });
    expect(await run()).toEqual(silent);
  });

  test("SIGTERM ends it at once, and the daemon sees the connection close", async () => {
    let parked: (socket: Socket) => void = () => undefined;
    const parking = new Promise<Socket>(resolve => {
      parked = resolve;
    });
    await FakeDaemon.at(socketPath, socket => {
      socket.write("\n");
      parked(socket);
    });
    const { child, ended } = start();
    const socket = await parking;
    const closed = new Promise(resolve => socket.on("close", resolve));
    child.kill("SIGTERM");
    expect(await ended).toEqual({ ...silent, code: null, signal: "SIGTERM" });
    await closed;
  });
});

test("the bundle is one small file that loads nothing but what it uses", () => {
  const text = readFileSync(program, "utf8");
  const loaded = [...text.matchAll(/(?:require|getBuiltinModule|import)\("([^"]+)"\)/g)].map(m => m[1]);
  expect(loaded.sort()).toEqual(["node:fs", "node:net", "node:os"]);
  expect(text.length).toBeLessThan(4096);
});
