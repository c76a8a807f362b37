/** Words of errors for people: the system's errors, and the place where a text stops being JSON. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { errorText, isSystemError, jsonProblem } from "../../protocol/errors.ts";
import { temporaryFolder } from "../temporary-folder.ts";

let root: string;
beforeEach(() => {
  root = temporaryFolder("kite-words-");
});

function thrown(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

describe("an error of the system", () => {
  it("is told as a sentence with the path and what to do, without the system's code and call", () => {
    writeFileSync(join(root, "file"), "");
    mkdirSync(join(root, "folder"));
    const told = [
      thrown(() => readFileSync(join(root, "none"))),
      thrown(() => readFileSync(join(root, "file", "below"))),
      thrown(() => readFileSync(join(root, "folder"))),
      thrown(() => mkdirSync(join(root, "folder"))),
    ].map(error => errorText(error));
    expect(told).toEqual([
      `${root}/none does not exist; see if it was moved or removed`,
      `a part of ${root}/file/below is no folder but a file; move that file away`,
      // Node names no path of an open descriptor.
      expect.stringContaining("is a folder, not a file; move it away"),
      `${root}/folder exists already; move it away`,
    ]);
    for (const text of told) expect(text).not.toMatch(/\bE[A-Z]{3,}\b|, open '|, mkdir '/);
  });

  it.each([
    ["EACCES", "open", "no permission for /x; see who may use it and its folder: ls -ld"],
    ["ENOSPC", "write", "no space is left on the disk of /x; free some, then try again"],
    ["ENOENT", "uv_cwd", "the working directory no longer exists; go to another one with cd"],
    [
      "ENOENT",
      "spawn tmux",
      "the program tmux, or the directory to run it in, is not there; install it, or correct PATH",
    ],
    ["EWEIRD", "open", "the system reports EWEIRD for /x; see if the disk and its permissions are in order"],
  ])("%s of %s", (code, syscall, text) => {
    const error = Object.assign(new Error(`${code}: raw, ${syscall} '/x'`), { code, syscall, path: "/x" });
    expect(isSystemError(error)).toBe(true);
    expect(errorText(error)).toBe(text);
  });

  it("is no fault of the program", () => {
    expect(isSystemError(new TypeError("x is not a function"))).toBe(false);
    expect(errorText(new Error("a sentence"))).toBe("a sentence");
  });
});

describe("a text that is no JSON", () => {
  it.each([
    ['{"a": 1,}', "line 1, column 9: expected a name in double quotes"],
    ['{\n  "a": 1\n  "b": 2\n}', "line 3, column 3: expected a comma or }"],
    ['{"a" 1}', "line 1, column 6: expected a colon"],
    ["[1, 2", "line 1, column 6: the text ends too early; expected a comma or ]"],
    ["", "line 1, column 1: the text ends too early; expected a value"],
    ["{'a': 1}", "line 1, column 2: expected a name in double quotes or }"],
    ["[1,\n// note\n2]", "line 2, column 1: expected a value"],
    ["{} {}", "line 1, column 4: expected nothing more"],
    [
      '{"a": "no end}',
      "line 1, column 7: the text in quotes does not end on its line, or holds a wrong escape",
    ],
    ['["\\x"]', "line 1, column 2: the text in quotes does not end on its line, or holds a wrong escape"],
    ["[01]", "line 1, column 3: expected a comma or ]"],
  ])("%j: %s", (text, problem) => {
    expect(jsonProblem(text)).toBe(problem);
  });

  it("is told from JSON exactly as the engine does it", () => {
    const isJson = (text: string) => {
      try {
        JSON.parse(text);
        return true;
      } catch {
        return false;
      }
    };
    const character = fc.constantFrom(...'{}[],:"\\ \n1-.eEtrufalsn0u\u0001');
    const noise = fc.string({ unit: character, maxLength: 12 });
    const edited = fc.tuple(fc.json(), fc.nat(), noise).map(([text, n, piece]) => {
      const at = n % (text.length + 1);
      return text.slice(0, at) + piece + text.slice(at + (n % 2));
    });
    fc.assert(
      fc.property(fc.oneof(noise, fc.json(), edited), text => {
        expect(jsonProblem(text) === null).toBe(isJson(text));
      }),
      { numRuns: 3_000 },
    );
  });
});
