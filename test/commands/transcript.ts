import { runService } from './run-service.ts';

/**
 * Runs command lines one after another in a folder, and returns them with all that they print. A line of standard error
 * begins with `! `, and a status other than 0 follows as `= 1`. A command line may begin with variables such as `PORT=1`,
 * and may end with `< ` and the text for standard input.
 */
export async function transcriptOf(folder: string, environment: Record<string, string>, lines: readonly string[]) {
  const parts: string[] = [];
  for (const line of lines) {
    const [typed = '', input = ''] = line.split(' < ');
    const words = (typed.match(/(?:"[^"]*"|\S)+/g) ?? []).map((word) => word.replaceAll('"', ''));
    const variables = words.filter((word) => /^[A-Z_]+=/.test(word)).map((word) => word.split(/=(.*)/s, 2));
    const { status, stdout, stderr } = await runService(words.slice(variables.length), {
      folder,
      environment: { ...environment, ...Object.fromEntries(variables) },
      input,
    });
    const said = stderr.replace(/^(?=.)/gm, '! ');
    parts.push(`$ ${line}\n${stdout}${said}${status === 0 ? '' : `= ${status}\n`}`);
  }
  return withoutChance(parts.join('\n'), folder);
}

const DAY_MS = 86_400_000;

/** Names what is random or differs from machine to machine, and writes the times of these days as days from now. */
export function withoutChance(text: string, folder: string): string {
  return text
    .replaceAll(folder, 'FOLDER')
    .replace(/\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z/g, (time) => {
      const days = (Date.parse(time) - Date.now()) / DAY_MS;
      return Math.abs(days) > 30
        ? time
        : `NOW${days < -0.01 ? '' : '+'}${Math.abs(days) < 0.01 ? 0 : days.toFixed(1)}d`;
    })
    .replace(/lia_\w{49}/g, 'TOKEN')
    .replace(/[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}/g, (id) => (/0{8}/.test(id) ? id : 'ID'));
}
