/** Reads a Dockerfile: its stages and their instructions. It supports only the instructions that this project uses. */

export type Copy = { from: string | undefined; owner: string | undefined; paths: string[] };

export type Step = { kind: 'workdir'; path: string } | { kind: 'copy'; copy: Copy } | { kind: 'run'; command: string };

export type Stage = { base: string; name: string | undefined; steps: Step[]; image: Image };

/** Settings of a stage for the container that runs it. */
export type Image = {
  environment: Record<string, string>;
  user: string | undefined;
  volumes: string[];
  labels: Record<string, string>;
  healthCheck: string[] | undefined;
  entrypoint: string[];
  command: string[];
  workdir: string;
};

/** Returns the stages of a Dockerfile. Throws if the text uses an unsupported instruction. */
export function readDockerfile(text: string): Stage[] {
  const stages: Stage[] = [];
  for (const { name, rest } of instructionsOf(text)) {
    if (name === 'FROM') {
      const [, base = '', alias] = /^(\S+)(?: AS (\S+))?$/.exec(rest) ?? [];
      stages.push({ base, name: alias, steps: [], image: emptyImage() });
      continue;
    }
    const stage = stages.at(-1);
    const read = readers[name];
    if (stage === undefined || read === undefined) throw new Error(`${name} is not known here.`);
    read(stage, rest);
  }
  return stages;
}

function emptyImage(): Image {
  const none = { user: undefined, healthCheck: undefined, entrypoint: [], command: [] };
  return { ...none, environment: {}, volumes: [], labels: {}, workdir: '/' };
}

function instructionsOf(text: string): { name: string; rest: string }[] {
  return text
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [, name = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
      return { name, rest };
    });
}

const readers: Readonly<Record<string, (stage: Stage, rest: string) => void>> = {
  WORKDIR: ({ steps, image }, path) => {
    image.workdir = path;
    steps.push({ kind: 'workdir', path });
  },
  COPY: ({ steps }, rest) => {
    const words = rest.split(/\s+/);
    const option = (name: string) => words.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
    const paths = words.filter((word) => !word.startsWith('--'));
    steps.push({ kind: 'copy', copy: { from: option('from'), owner: option('chown'), paths } });
  },
  RUN: ({ steps }, command) => void steps.push({ kind: 'run', command }),
  ENV: ({ image }, rest) => void Object.assign(image.environment, pairsOf(rest)),
  LABEL: ({ image }, rest) => void Object.assign(image.labels, pairsOf(rest)),
  USER: ({ image }, user) => {
    image.user = user;
  },
  VOLUME: ({ image }, path) => void image.volumes.push(path),
  EXPOSE: () => {},
  STOPSIGNAL: () => {},
  HEALTHCHECK: ({ image }, rest) => {
    image.healthCheck = execForm(rest.replace(/^.*? CMD /, ''));
  },
  ENTRYPOINT: ({ image }, rest) => {
    image.entrypoint = execForm(rest);
  },
  CMD: ({ image }, rest) => {
    image.command = execForm(rest);
  },
};

/** Parses the exec form. The shell form is refused, because a shell would not pass signals on to the service. */
function execForm(rest: string): string[] {
  const words: unknown = JSON.parse(rest);
  if (Array.isArray(words)) return words.map(String);
  throw new Error('Only the exec form is taken.');
}

function pairsOf(rest: string): Record<string, string> {
  const pairs = rest.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S*))/g);
  return Object.fromEntries([...pairs].map(([, key, quoted, bare]) => [key, quoted ?? bare]));
}
