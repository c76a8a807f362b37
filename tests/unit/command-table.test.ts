/** The table of commands: `--json`, and what `kite instructions` names. */
import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { commands } from "../../bin/command-table.ts";
import { addInstructions as add, instructions } from "../../bin/commands/mcp.ts";
import type { ProcessContext } from "../../bin/context/process-context.ts";
import { tools } from "../../bin/mcp/tool-list.ts";
import { addCommand } from "../../bin/parser.ts";

// Programs read every command that answers something: `--json`, whose form its help or that of its parent says.
describe("`--json`", async () => {
  /** Commands without `--json`, and why. */
  const without: Readonly<Record<string, string>> = {
    "kite agents attach": "hands the terminal over to the agent",
    "kite completion": "prints a shell's script",
    "kite complete": "prints words for a shell's completion",
    "kite man": "prints a manual page",
    "kite commit-check": "git's hook shows what it says",
    "kite instructions": "prints a text for another file",
    "kite mcp": "speaks MCP, which is JSON",
    "kite statusline": "prints the line that Claude Code shows",
    "kite notify": "shows desktop notices until it is interrupted",
  };

  const program = new Command("kite");
  for (const [name, entry] of Object.entries(commands))
    await addCommand(program, name, entry, async () => {}, commands);

  /** Every command that does something, with the words that name it. */
  function leavesOf(command: Command, path: string): readonly (readonly [string, Command])[] {
    const below = command.commands.flatMap(one => leavesOf(one, `${path} ${one.name()}`));
    return below.length > 0 ? below : [[path, command]];
  }

  const all = program.commands.flatMap(one => leavesOf(one, `kite ${one.name()}`));

  /** The help of a command and of those above it. */
  function helpOf(command: Command | null): string {
    if (command === null) return "";
    let text = "";
    const writeOut = (part: string) => {
      text += part;
    };
    command.configureOutput({ writeOut }).outputHelp();
    return text + helpOf(command.parent);
  }

  describe("--json", () => {
    it.each(all)("%s has it, or a reason why not", (path, command) => {
      const has = command.options.some(({ long }) => long === "--json");
      expect(has, path).toBe(!Object.hasOwn(without, path));
    });

    it("the table of reasons names commands that are there", () => {
      expect(all.map(([path]) => path)).toEqual(expect.arrayContaining(Object.keys(without)));
    });

    it.each(all.filter(([path]) => !Object.hasOwn(without, path)))(
      "%s says in its help that it is JSON",
      (_path, command) => {
        expect(helpOf(command)).toMatch(/JSON/);
      },
    );
  });
});

// What `kite instructions` says is so: the tools and the commands that it names are there.
describe("`kite instructions`", () => {
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
});
