/** Who may read the page of `kite web`, and who takes its connections. */

import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { wordsOf } from "../../bin/web/answers.ts";
import { Access, isFromPage, PageServer, type Site } from "../../bin/web/http.ts";
import type { Reader } from "../../bin/web/live.ts";
import { bounds } from "../../bin/web/wire.ts";

// Who may read the page of `kite web`, and what a person may ask of it.

const bearing = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

describe("a code", () => {
  it("gives the token once", () => {
    const access = new Access(() => 0);
    const code = access.newCode();
    const token = access.trade(code) ?? "";
    expect(access.isKnown(bearing(token))).toBe(true);
    expect(access.trade(code)).toBe(null);
  });

  it("works for a minute", () => {
    let now = 0;
    const access = new Access(() => now);
    const [early, late] = [access.newCode(), access.newCode()];
    now = bounds.codeMs - 1;
    expect(access.trade(early)).not.toBe(null);
    now = bounds.codeMs;
    expect(access.trade(late)).toBe(null);
  });

  it("works no longer if the clock is set back", () => {
    let now = 3_600_000;
    const access = new Access(() => now);
    const code = access.newCode();
    now = 0;
    expect(access.trade(code)).toBe(null);
  });

  it("is one of a few: the oldest ends", () => {
    const access = new Access(() => 0);
    const codes = Array.from({ length: bounds.codesMax + 1 }, () => access.newCode());
    expect(codes.map(code => access.trade(code) !== null)).toEqual([
      false,
      ...Array.from({ length: bounds.codesMax }, () => true),
    ]);
  });

  it("is no other text", () => {
    const access = new Access(() => 0);
    access.newCode();
    for (const text of ["", " ", "x".repeat(10_000), "__proto__"]) expect(access.trade(text)).toBe(null);
  });
});

describe("the token", () => {
  it("is that of this server alone, and nothing else passes for it", () => {
    const access = new Access(() => 0);
    const other = new Access(() => 0);
    const token = access.trade(access.newCode()) ?? "";
    expect(other.isKnown(bearing(token))).toBe(false);
    for (const authorization of [
      "",
      "Bearer",
      "Bearer ",
      token,
      `Basic ${token}`,
      `Bearer x${token}`,
      `bearer ${token}`,
    ])
      expect(access.isKnown({ headers: { authorization } }), authorization).toBe(false);
    expect(access.isKnown({ headers: {} })).toBe(false);
    expect(access.isKnown(bearing(access.folder))).toBe(false);
  });
});

describe("a request is the page's own", () => {
  it.each([
    [{ host: "127.0.0.1:5483" }, true],
    [{ host: "localhost:5483" }, true],
    [{ host: "127.0.0.1:5483", origin: "http://127.0.0.1:5483", "sec-fetch-site": "same-origin" }, true],
    [{ host: "127.0.0.1:5483", "sec-fetch-site": "none" }, true],
    [{}, false],
    [{ host: "127.0.0.1" }, false],
    [{ host: "127.0.0.1:80" }, false],
    [{ host: "kite.example:5483" }, false],
    [{ host: "localhost.example:5483" }, false],
    [{ host: "127.0.0.1:5483", origin: "http://evil.example" }, false],
    [{ host: "127.0.0.1:5483", origin: "http://localhost:5483" }, false],
    [{ host: "127.0.0.1:5483", origin: "https://127.0.0.1:5483" }, false],
    [{ host: "127.0.0.1:5483", origin: "null" }, false],
    [{ host: "127.0.0.1:5483", "sec-fetch-site": "cross-site" }, false],
    [{ host: "127.0.0.1:5483", "sec-fetch-site": "same-site" }, false],
  ])("%j: %s", (headers, is) => {
    expect(isFromPage({ headers }, 5483)).toBe(is);
  });

  it("names no port where that is 80, as browsers write it", () => {
    const headers = { host: "127.0.0.1", origin: "http://127.0.0.1" };
    expect(isFromPage({ headers }, 80)).toBe(true);
    expect(isFromPage({ headers: { ...headers, host: "kite.example" } }, 80)).toBe(false);
  });
});

describe("what a person asks for", () => {
  it.each([
    [
      { deed: "unlock", file: "/p/-a.ts", project: "/p" },
      ["unlock", "--force", "--project", "/p", "--", "/p/-a.ts"],
    ],
    [
      { deed: "send", to: "bob", text: "--all", project: "/p" },
      ["message", "send", "--project", "/p", "--", "bob", "--all"],
    ],
    [
      { deed: "send", to: null, text: "hi", project: "/p" },
      ["message", "send", "--all", "--project", "/p", "--", "hi"],
    ],
    [{ deed: "task_cancel", task: "t-1", project: "/p" }, ["task", "cancel", "--project", "/p", "--", "t-1"]],
    [
      {
        ...{ deed: "task_add", description: "--all", needs: "12, #3", labels: "--x, prod eu,", risk: "red" },
        project: "/p",
      },
      [
        ...["task", "add", "--project", "/p", "--risk", "red", "--needs", "12", "--needs", "#3"],
        ...["--label", "--x", "--label", "prod eu", "--", "--all"],
      ],
    ],
  ])("is a command: %j", (deed, words) => {
    expect(wordsOf(deed)).toEqual(words);
  });

  it.each([
    null,
    "unlock",
    [],
    {},
    { deed: "down" },
    { deed: "toString" },
    { deed: "__proto__" },
    { deed: "unlock" },
    { deed: "unlock", file: 3 },
    { deed: "unlock", file: ["/p"] },
    { deed: "unlock", file: "a\0b" },
    { deed: "task_add", description: "x" },
    { deed: "task_add", description: "x", needs: "", labels: "", project: "/p" },
    { deed: "task_add", description: "x", needs: "", risk: "red", project: "/p" },
  ])("is nothing else: %j", deed => {
    expect(wordsOf(deed)).toBe(null);
  });
});

// The page's server beside a program of this machine that opens connections and says nothing.
describe("connections that say nothing", () => {
  /** A stream that says something at once, so that its head is sent. */
  function open(_: unknown, reader: Reader): () => void {
    reader.write("\n");
    return () => {};
  }

  const asset = { type: "text/html", body: Buffer.from("a door") };
  const site = {
    live: { streams: 0, open },
    door: { page: asset, program: asset },
    assets: new Map(),
    answers: new Map(),
    act: null,
    onTrouble: () => {},
  } as unknown as Site;

  let server: PageServer;
  let idle: Socket[];

  beforeEach(async () => {
    server = new PageServer(site, () => 0);
    await server.listen(0);
    idle = [];
  });

  afterEach(async () => {
    for (const socket of idle) socket.destroy();
    await server.close();
  });

  async function fill(): Promise<void> {
    for (let n = 0; n < bounds.connectionsMax; n += 1) {
      const socket = connect(server.port, "127.0.0.1");
      // The server closes some of them.
      socket.on("error", () => {});
      idle.push(socket);
      await once(socket, "connect");
    }
  }

  async function get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<IncomingMessage> {
    const sent = request({ host: "127.0.0.1", port: server.port, path, headers, agent: false });
    const answered = once(sent, "response");
    sent.end();
    const [answer] = await answered;
    return answer;
  }

  test("silent connections keep no page out", async () => {
    await fill();
    const answer = await get("/now");
    expect(answer.statusCode).toBe(200);
    answer.resume();
    await once(answer, "end");
  });

  test("a stream of a page goes on, whatever others open", async () => {
    const code = server.address().split("#")[1] ?? "";
    const token = server.access.trade(code) ?? "";
    const stream = await get("/api/live?topics=sessions", { Authorization: `Bearer ${token}` });
    await fill();
    await fill();
    const later = await get("/now");
    expect(later.statusCode).toBe(200);
    later.resume();
    expect(stream.destroyed).toBe(false);
    expect(stream.complete).toBe(false);
    stream.destroy();
  });
});
