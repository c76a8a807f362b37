/** What `kite instructions` says is so: the tools and the commands that it names are there. */
import { Command } from "commander";
import { expect, it } from "vitest";
import { commands } from "../../bin/command-table.ts";
import { addInstructions as add, instructions } from "../../bin/commands/mcp.ts";
import type { ProcessContext } from "../../bin/context/process-context.ts";
import { tools } from "../../bin/mcp/tool-list.ts";

const text = instructions.join("\n");

it("names only tools and commands that there are", () => {
  const named = [...text.matchAll(/`(kite_\w+)`/g)].map(([, name]) => name);
  expect(named.length).toBeGreaterThan(4);
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(named));
  const typed = [...text.matchAll(/`kite (\w+)/g)].map(([, name]) => name);
  expect(typed.length).toBeGreaterThan(2);
  expect(Object.keys(commands)).toEqual(expect.arrayContaining(typed));
});

it("is short, and printed as it is", async () => {
  expect(text.length).toBeLessThan(1_500);
  let printed = "";
  const stdout = {
    write: (more: string) => {
      printed += more;
    },
  };
  const command = new Command("instructions");
  const works: Promise<number>[] = [];
  add(command, async work => void works.push(work({ stdout, env: {} } as unknown as ProcessContext)));
  await command.parseAsync([], { from: "user" });
  await Promise.all(works);
  expect(printed).toBe(`${text}\n`);
});
