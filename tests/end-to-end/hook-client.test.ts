import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../protocol/limits.ts";
import { answer, HookWorld, hookPrograms, payload, type Run, silent } from "./hook-clients.ts";

/** One suite over both hook clients, as they are installed, against a daemon that does what each test says. */
describe.each(hookPrograms)("the $name client", program => {
  let world: HookWorld;
  const run = (options?: Run) => world.run(options);

  beforeEach(() => {
    world = new HookWorld(program);
  });

  afterEach(() => world.dispose());

  describe("what is forwarded", () => {
    test("one hook request: the event as it came, the few variables that matter, the parent", async () => {
      const { requests } = await world.daemon(socket => socket.write(answer()));
      const env = {
        CLAUDE_PID: "41",
        CLAUDE_PROJECT_DIR: "/p",
        CLAUDE_CODE_SESSION_ATTENDED: "1",
        CLAUDE_CODE_ENTRYPOINT: "cli",
        HOME: "/home/dev",
        KITE_SPAWN: "a-mhx3k2p1-1",
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
        reply: "raw",
      });
    });

    test("an entry of another client names it, and nothing else can stand there", async () => {
      const { requests } = await world.daemon(socket => socket.write(answer()));
      for (const name of ["codex", '"},"type":"shutdown"', "Codex", "co dex", "codex\n"])
        await run({ more: ["", "", name] });
      const clients = requests.map(line => JSON.parse(line).client);
      expect(clients).toEqual(["codex", undefined, undefined, undefined, undefined]);
    });

    test("a variable is text, whatever it holds; one longer than a request may carry is left out", async () => {
      const { requests } = await world.daemon(socket => socket.write(answer()));
      const hostile = '"},"type":"shutdown","x":{"\\"\n{"type":"shutdown"}\r\t\u001b\\\u007f漢😀';
      const tooLong = "é".repeat(limits.pathBytes / 2 + 1);
      await run({ env: { CLAUDE_PROJECT_DIR: tooLong, CLAUDE_PID: hostile, CLAUDE_CODE_ENTRYPOINT: "" } });
      expect(requests.map(line => JSON.parse(line))).toMatchObject([
        { type: "hook", env: { CLAUDE_PID: hostile, CLAUDE_CODE_ENTRYPOINT: "" } },
      ]);
      expect(JSON.parse(requests[0] ?? "").env).not.toHaveProperty("CLAUDE_PROJECT_DIR");
    });

    test.each([
      ["pretty-printed", JSON.stringify(payload, null, 2)],
      [
        "with CRLF and blank lines",
        `\r\n${JSON.stringify(payload, null, "\t").replaceAll("\n", "\r\n\r\n")}\r\n`,
      ],
      ["with a newline at its end", `${JSON.stringify(payload)}\n`],
    ])("a payload %s stays one line", async (_, stdin) => {
      const { requests } = await world.daemon(socket => socket.write(answer()));
      expect(await run({ stdin })).toEqual(silent);
      expect(requests.map(line => JSON.parse(line).event)).toEqual([payload]);
    });

    test.each([
      ["a second line", '{"a":1}\n{"type":"shutdown"}'],
      ["an end of its own", '{"a":1},"type":"shutdown","x":{"b":1}'],
      ["an end of its own and text after it", '{"a":1},"type":"shutdown"'],
      ["an end of its own and a string of brackets", '{"a":1},"type":"shutdown","x":"{}"'],
      ["an end of its own behind an escaped quote", '{"a":"\\""},"type":"shutdown","x":{"b":"\\""}'],
      ["an end of its own behind a backslash", '{"a":"\\\\"},"type":"shutdown","x":{"b":"\\\\"}'],
      ["an end and another request", '{}}\n{"type":"shutdown"}\n{"x":{}'],
      ["brackets that cross", '{"a":[}]'],
      ["a bare value", '"x"'],
      ["a list", '[{"type":"shutdown"}]'],
      ["null", "null"],
      ["nothing", ""],
      ["white space", " \n\n "],
      ["half an object", '{"session_id":"s"'],
      ["half a string", '{"session_id":"s}'],
      ["a raw line break in a string", '{"a":"x\n{\\"type\\":\\"shutdown\\"}"}'],
      ["an escaped raw line break", '{"a":"\\\n"}'],
      ["a zero byte", '{"a":\u00001}'],
      ["a zero byte in a string", '{"a":"\u0000"}'],
      ["an escape character in a string", '{"a":"\u001b"}'],
      ["a form feed between tokens", '{"a":\f1}'],
      ["a byte order mark", '\ufeff{"a":1}'],
      ["bytes that are not UTF-8", Buffer.from('{"a":"\xff\xf0\x9f\x98"}', "latin1")],
      ["depth without end", "[".repeat(200_000)],
      ["depth without end in an object", `{"a":${"[".repeat(200_000)}`],
      ["5 MB of noise", Buffer.alloc(5_000_000, 0xa7)],
      ["5 MB of newlines", "\n".repeat(5_000_000)],
      ["5 MB of quotes", `{"a":${'"'.repeat(5_000_001)}}`],
    ])("from a payload with %s nothing is sent", async (_, stdin) => {
      const { requests } = await world.daemon(socket => socket.write(answer({ output: "x" })));
      expect(await run({ stdin })).toEqual(silent);
      expect(requests).toEqual([]);
    });

    test.each([
      '{"a":}',
      '{"a" "b"}',
      "{a:1}",
      '{"a":1,}',
      '{"a":\\"1\\"}',
      '{"a":"\\x"}',
      '{"a":\\},"type":"shutdown","x":\\{}',
    ])("the payload %j, which is no JSON, makes no request that is", async stdin => {
      const { requests } = await world.daemon(socket => socket.end('{"ok":false,"code":"invalid_json"}\n'));
      expect(await run({ stdin })).toEqual(silent);
      for (const line of requests) expect(() => JSON.parse(line)).toThrow(SyntaxError);
    });

    test("what looks like a request inside a payload is text and nothing else", async () => {
      const hostile = {
        type: "shutdown",
        text: '\n{"type":"shutdown"}\n',
        ["\n{}\r\n"]: '"}}\n',
        brackets: '}}]{"',
        backslashes: ["\\", '\\"', '\\\\"', "\\\\"],
        u: "\u0000\u001b\u0085\u2028\u2029",
        ["__proto__"]: { type: "shutdown" },
      };
      const stdin = JSON.stringify(hostile).replace(/\}$/, ',"__proto__":{"ok":true}}');
      const { requests } = await world.daemon(socket => socket.write(answer()));
      expect(await run({ stdin })).toEqual(silent);
      expect(requests).toHaveLength(1);
      const sent = JSON.parse(requests[0] ?? "");
      expect(Object.keys(sent)).toEqual(["type", "event", "env", "ppid", "reply"]);
      expect(sent.type).toBe("hook");
      expect(JSON.stringify(sent.event)).toBe(JSON.stringify(JSON.parse(stdin)));
    });

    test("a whole file comes as it is: 5 MB, a hundred thousand lines, quotes, backslashes, brackets", async () => {
      const content = 'say("\\{[漢😀\u0007é");\r\n\t'.repeat(150_000);
      const lists = Array.from({ length: 50_000 }, (_, n) => ({ n: [n] }));
      const stdin = JSON.stringify({ ...payload, tool_input: { content, lists } });
      expect(Buffer.byteLength(stdin)).toBeGreaterThan(5_000_000);
      const { requests } = await world.daemon(
        socket => socket.write(answer({ output: "x" })),
        // In small pieces, so that the hook has to write in parts.
        socket =>
          socket.on("data", () => {
            socket.pause();
            setImmediate(() => socket.resume());
          }),
      );
      expect(await run({ stdin })).toEqual({ ...silent, stdout: "x" });
      expect(requests).toHaveLength(1);
      expect(requests[0]?.startsWith(`{"type":"hook","event":${stdin},"env":{}`)).toBe(true);
    });

    test("nested as deep as a daemon takes", async () => {
      const deepest = limits.hookNestingMax - 1;
      const stdin = `{"a":${"[".repeat(deepest)}${"]".repeat(deepest)}}`;
      const { requests } = await world.daemon(socket => socket.write(answer()));
      await run({ stdin });
      expect(requests).toHaveLength(1);
      expect(JSON.stringify(JSON.parse(requests[0] ?? "").event)).toBe(stdin);
    });

    test("the longest line that a daemon takes is sent, one byte more is not", async () => {
      const { requests } = await world.daemon(
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
      const { requests } = await world.daemon(socket => socket.write(answer()));
      const { child, ended } = world.open();
      for (const byte of Buffer.from(JSON.stringify(payload))) {
        await new Promise(resolve => child.stdin.write(Buffer.of(byte), resolve));
      }
      child.stdin.end();
      expect(await ended).toEqual(silent);
      expect(requests.map(line => JSON.parse(line).event)).toEqual([payload]);
    });

    test("without KITE_HOME it is .kite in the home directory", async () => {
      const elsewhere = join(world.home, "k.sock");
      const { requests } = await world.daemon(socket => socket.write(answer()), undefined, elsewhere);
      const inside = mkdtempSync(join(world.home, "user-"));
      const kite = join(inside, ".kite");
      renameSync(mkdtempSync(join(world.home, "dir-")), kite);
      renameSync(elsewhere, join(kite, "kite.sock"));
      await run({ env: { KITE_HOME: "", HOME: inside } });
      expect(requests).toHaveLength(1);
    });
  });

  describe("what comes back", () => {
    test("output, exit code and error text as the daemon says, lines into the environment file", async () => {
      const envFile = join(world.home, "env");
      writeFileSync(envFile, "export A=1\n");
      const reply = {
        output: '{"x":"é\\n"}',
        exitCode: 2,
        stderr: "wh漢y\n",
        env: ["export B='2é'", "export C='3'"],
      };
      await world.daemon(socket => socket.write(answer(reply)));
      const ended = await run({ env: { CLAUDE_ENV_FILE: envFile } });
      expect(ended).toEqual({ code: 2, signal: null, stdout: reply.output, stderr: reply.stderr });
      expect(readFileSync(envFile, "utf8")).toBe("export A=1\nexport B='2é'\nexport C='3'\n");
    });

    test("without lines for it an environment file is left alone", async () => {
      await world.daemon(socket => socket.write(answer({ output: "x" })));
      const envFile = join(world.home, "env");
      expect(await run({ env: { CLAUDE_ENV_FILE: envFile } })).toEqual({ ...silent, stdout: "x" });
      expect(() => readFileSync(envFile)).toThrow("ENOENT");
    });

    test("lines for an environment file that cannot be written are dropped, the answer is not", async () => {
      await world.daemon(socket => socket.write(answer({ output: "x", env: ["export B=1"] })));
      const nowhere = { CLAUDE_ENV_FILE: join(world.home, "no", "env") };
      expect(await run({ env: nowhere })).toEqual({ ...silent, stdout: "x" });
      expect(await run()).toEqual({ ...silent, stdout: "x" });
    });

    test("an answer in pieces, after blank lines and events", async () => {
      await world.daemon(async socket => {
        const event = '{"type":"event","event":"lock_queued"}';
        const reply = answer({ output: "漢字😀\n0 1 1 1\n", stderr: "é" });
        for (const byte of Buffer.from(`\n \n${event}\n${reply}`)) {
          await new Promise(resolve => socket.write(Buffer.of(byte), resolve));
        }
      });
      expect(await run()).toEqual({ ...silent, stdout: "漢字😀\n0 1 1 1\n", stderr: "é" });
    });

    test("the longest answer there may be", async () => {
      const output = "é".repeat(limits.lineBytes / 2);
      await world.daemon(socket => socket.end(answer({ output })));
      expect(await run()).toEqual({ ...silent, stdout: output });
    });

    test.each([
      ["a word", "what?\n"],
      ["a refusal", '{"ok":false,"error":"x","code":"internal_error"}\n'],
      ["restarting, though nothing was parked", '{"ok":false,"error":"x","code":"restarting"}\n'],
      ["in the form for others", '{"ok":true,"output":"x","exitCode":2}\n'],
      ["short of a number", "0 1 0\nx"],
      ["an exit code out of range", "300 1 0 0\nx"],
      ["a negative exit code", "-2 1 0 0\nx"],
      ["a number with something after it", "0 1 0 0 \nx"],
      ["longer than any answer", `0 ${limits.lineBytes} 1 0\n${"x".repeat(limits.lineBytes + 1)}`],
      ["of a length without end", `0 ${"9".repeat(400)} 0 0\nx`],
      ["a line longer than any answer", "x".repeat(3 * limits.lineBytes)],
      ["half a line, then the end", "2 1"],
      ["half the output, then the end", "2 2 0 0\nx"],
    ])("an answer that is %s: exit 0, no word, no second try", async (_, reply) => {
      const fake = await world.daemon(socket => socket.end(reply));
      expect(await run()).toEqual(silent);
      expect(fake.connections).toBe(1);
    });
  });

  describe("fail open", () => {
    test("no daemon, no home, no place of one's own, or no socket there", async () => {
      expect(await run()).toEqual(silent);
      expect(await run({ env: { KITE_HOME: join(world.home, "no") } })).toEqual(silent);
      expect(await run({ env: { KITE_HOME: "relative" } })).toEqual(silent);
      writeFileSync(world.socketPath, "");
      expect(await run()).toEqual(silent);
    });

    test("a socket that nobody listens on any more", async () => {
      const first = join(world.home, "first");
      const gone = await world.daemon(() => undefined, undefined, first);
      renameSync(first, world.socketPath);
      await gone.close();
      expect(await run()).toEqual(silent);
    });

    test("a directory that others may write to is not trusted", async () => {
      const { requests } = await world.daemon(socket => socket.write(answer({ output: "x" })));
      chmodSync(world.home, 0o770);
      expect(await run()).toEqual(silent);
      expect(requests).toEqual([]);
    });

    test("only a regular file switches Kite off", async () => {
      await world.daemon(socket => socket.write(answer({ output: "x" })));
      const off = join(world.home, "off");
      execFileSync("mkfifo", [off]);
      expect(await run()).toEqual({ ...silent, stdout: "x" });
      rmSync(off);
      writeFileSync(off, "");
      expect(await run()).toEqual(silent);
    });

    test("KITE=off: nothing is read and nobody asked", async () => {
      const fake = await world.daemon(socket => socket.write(answer({ output: "x" })));
      const { ended } = world.open({ env: { KITE: "off" } });
      expect(await ended).toEqual(silent);
      expect(fake.connections).toBe(0);
    });

    describe("a connection that is taken and closed without a word", () => {
      const prompt = JSON.stringify({ session_id: "s", hook_event_name: "UserPromptSubmit" });

      test("before a tool the same is asked again, until there is an answer", async () => {
        let dropped = 0;
        const { requests } = await world.daemon(
          socket => socket.write(answer({ output: "x" })),
          socket => {
            if (dropped === 3) return;
            dropped += 1;
            socket.destroy();
          },
        );
        expect(await run()).toEqual({ ...silent, stdout: "x" });
        expect([dropped, new Set(requests).size]).toEqual([3, 1]);
      });

      test("where no answer comes the hook lets go, and counts it", async () => {
        const fake = await world.daemon(
          () => undefined,
          socket => socket.destroy(),
        );
        expect(await run()).toEqual(silent);
        expect(fake.connections).toBeGreaterThan(2);
        expect(readFileSync(join(world.home, "hook-failures"), "latin1")).toMatch(/^\d{10} tool\n$/);
      });

      test("elsewhere it lets go at once", async () => {
        const fake = await world.daemon(socket => socket.end());
        expect(await run({ stdin: prompt })).toEqual(silent);
        expect(fake.connections).toBe(1);
      });
    });

    test("a daemon that says nothing: over after the first byte's time, not the budget", async () => {
      const fake = await world.daemon(() => undefined);
      expect(await run()).toEqual(silent);
      expect(fake.connections).toBe(1);
    });

    test("a daemon that does not read a long event to its end", async () => {
      const fake = await world.daemon(
        () => undefined,
        socket => socket.pause(),
      );
      const stdin = JSON.stringify({ ...payload, tool_input: { content: "x".repeat(5_000_000) } });
      expect(await run({ stdin })).toEqual(silent);
      expect(fake.connections).toBe(1);
    });

    test("a daemon that goes while it reads a long event is absent", async () => {
      const fake = await world.daemon(
        () => undefined,
        socket => socket.once("data", () => void fake.close()),
      );
      const stdin = JSON.stringify({ ...payload, tool_input: { content: "x".repeat(5_000_000) } });
      expect(await run({ stdin })).toEqual(silent);
      expect(existsSync(join(world.home, "hook-failures"))).toBe(false);
    });

    test("a daemon that reads a long event slowly is not silent", async () => {
      // Well within a second each, and more than one together.
      const piece = 600_000;
      const slow = (socket: Socket) => {
        socket.pause();
        let left = 0;
        const more = setInterval(() => {
          left = piece;
          socket.resume();
        }, 300);
        socket.on("data", chunk => {
          left -= chunk.length;
          if (left <= 0) socket.pause();
        });
        socket.on("close", () => clearInterval(more));
      };
      await world.daemon(socket => socket.write(answer({ output: "x" })), slow);
      const stdin = JSON.stringify({ ...payload, tool_input: { content: "x".repeat(6 * piece) } });
      expect(await run({ stdin })).toEqual({ ...silent, stdout: "x" });
    });

    test("a client that goes while it reads a long answer", async () => {
      await world.daemon(socket => socket.write(answer({ output: "x".repeat(900_000) })));
      const { child } = world.open();
      child.stdout.removeAllListeners("data").once("data", () => child.stdout.destroy());
      child.stdin.end(JSON.stringify(payload));
      await once(child, "exit");
    });

    test.each(["400", "0", "soon", ""])("a parked request ends with the budget %j", async budget => {
      await world.daemon(socket => socket.write("\n"));
      expect(await run({ budget })).toEqual(silent);
    });

    test("SIGTERM while the event is read", async () => {
      const { requests } = await world.daemon(socket => socket.write(answer({ output: "x" })));
      const { child, ended } = world.open();
      // More than a pipe holds: when it is written, the hook reads.
      await new Promise(resolve => child.stdin.write(`{"a":"${"x".repeat(1_000_000)}`, resolve));
      child.kill("SIGTERM");
      expect(await ended).toEqual({ ...silent, code: null, signal: "SIGTERM" });
      expect(requests).toEqual([]);
    });
  });

  describe("after parking", () => {
    test("a lost connection is made again, with the same bytes", async () => {
      const { requests } = await world.daemon((socket, _, fake) => {
        socket.write("\n");
        if (fake.requests.length < 3) socket.destroy();
        else socket.write(answer({ output: "granted" }));
      });
      expect(await run()).toEqual({ ...silent, stdout: "granted" });
      expect(new Set(requests).size).toBe(1);
      expect(requests).toHaveLength(3);
    });

    test("half an answer is none: the connection is made again", async () => {
      const { requests } = await world.daemon((socket, _, fake) => {
        if (fake.requests.length < 2) socket.end("\n2 5 0 0\nden");
        else socket.end(answer({ output: "granted" }));
      });
      expect(await run()).toEqual({ ...silent, stdout: "granted" });
      expect(requests).toHaveLength(2);
    });

    test("a daemon that is replaced: its successor gets the request and answers", async () => {
      let second: { readonly requests: readonly string[] } | null = null;
      const first = await world.daemon(async (socket, _, fake) => {
        socket.write('\n{"ok":false,"error":"come back","code":"restarting"}\n');
        await fake.close();
        second = await world.daemon(next => next.write(`\n${answer({ output: "granted" })}`));
      });
      expect(await run()).toEqual({ ...silent, stdout: "granted" });
      expect(first.requests).toHaveLength(1);
      expect(second).toMatchObject({ requests: first.requests });
    });

    test.each([
      ["a refusal", '{"ok":false,"error":"x","code":"lock_timeout"}\n'],
      ["nonsense", "what?\n"],
    ])("%s ends it", async (_, reply) => {
      const fake = await world.daemon(socket => socket.end(`\n${reply}`));
      expect(await run()).toEqual(silent);
      expect(fake.connections).toBe(1);
    });

    test("nobody comes back: exit 0 without a word", async () => {
      await world.daemon((socket, _, fake) => {
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
      await world.daemon(socket => {
        socket.write("\n");
        parked(socket);
      });
      const { child, ended } = world.start();
      const socket = await parking;
      const closed = new Promise(resolve => socket.on("close", resolve));
      child.kill("SIGTERM");
      expect(await ended).toEqual({ ...silent, code: null, signal: "SIGTERM" });
      await closed;
    });
  });
});

describe("what the programs are made of", () => {
  const text = (name: string) => readFileSync(hookPrograms.find(p => p.name === name)?.file ?? "", "utf8");
  const perlSource = readFileSync(new URL("../../hooks/client/hook.pl", import.meta.url), "utf8");

  test("the Node client is one small file that loads nothing but what it uses", () => {
    const bundle = text("node");
    const loaded = [...bundle.matchAll(/(?:require|getBuiltinModule|import)\("([^"]+)"\)/g)].map(m => m[1]);
    expect([...new Set(loaded)].sort()).toEqual(["node:child_process", "node:fs", "node:net", "node:os"]);
    expect(bundle.length).toBeLessThan(8 * 1024);
  });

  test("the perl client loads no module", () => {
    const script = text("perl");
    const loaded = [...script.matchAll(/^\s*(?:use|require|no|do)\s+([^;]+);/gm)].map(m => m[1]);
    expect(loaded).toEqual([]);
  });

  test("the perl client gets its bounds from the protocol, each number in the place of its name", () => {
    const code = perlSource.replace(/^\s*#.*$/gm, "");
    const names = [...new Set([...code.matchAll(/\$limits\{(\w+)\}/g)].map(([, name = ""]) => name))];
    const bounds = names.map(name => Object.entries(limits).find(([key]) => key === name)?.[1]);
    expect(bounds.filter(bound => typeof bound !== "number")).toEqual([]);
    expect(names).toContain("hookFailuresMax");
    expect(text("perl")).not.toContain("limits{");
    expect(text("perl")).toContain(`return 0 if @_ < ${limits.hookFailuresMax};`);
    // Milliseconds of a second, what a pattern repeats and captures, and lengths of a time stamp bound nothing.
    const plain = code.replace(/\/ 1_000\b|\{\d+,\d+\}|\$\d/g, "");
    const numbers = [...plain.matchAll(/\b\d[\d_]*\b/g)].map(([number]) =>
      Number(number.replaceAll("_", "")),
    );
    expect(numbers.filter(number => bounds.includes(number))).toEqual([]);
  });

  test("the perl client is strict where it is written, what is compiled late included", () => {
    expect(perlSource).toContain("\nuse strict;\n");
    const input = perlSource.replace("\n__DATA__\n", "\n");
    const { stderr, status } = spawnSync("/usr/bin/perl", ["-Tc"], { input, encoding: "utf8" });
    expect([status, stderr]).toEqual([0, "- syntax OK\n"]);
  });

  test("the perl client takes no word from the variables that change how perl starts", async () => {
    const perl = hookPrograms.find(p => p.name === "perl");
    if (perl === undefined) throw new Error("no perl client");
    const world = new HookWorld(perl);
    try {
      await world.daemon(socket => socket.write(answer({ output: "é" })));
      const env = { PERL5OPT: "-MNo::Such::Module", PERL5LIB: world.home, PERL_UNICODE: "SAD" };
      expect(await world.run({ env })).toEqual({ ...silent, stdout: "é" });
    } finally {
      await world.dispose();
    }
  });
});
