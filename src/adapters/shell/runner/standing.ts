import { isDeepStrictEqual } from 'node:util';
import type { Clock, Question, Timer } from '../../../core/index.ts';
import type { JobFiles } from '../job-files.ts';
import type { ProgressSeen } from '../progress/progress-reader.ts';
import { note } from './note.ts';

/** Progress is told so often at most. */
const TELL_MS = 250;

/** How the job stands, kept where whoever watches over it can read it. */
export class Standing {
  readonly #files: JobFiles;
  readonly #clock: Clock;
  readonly #questions = new Map<string, Question>();
  #seen: ProgressSeen | undefined;
  #told: ProgressSeen | undefined;
  #timer: Timer | undefined;
  #over = false;

  constructor(files: JobFiles, clock: Clock) {
    this.#files = files;
    this.#clock = clock;
  }

  get seen(): ProgressSeen | undefined {
    return this.#seen;
  }

  saw(seen: ProgressSeen): void {
    this.#seen = seen;
    this.#timer ??= this.#clock.setTimer(TELL_MS, () => this.#due());
  }

  asked(key: string, question: Question): void {
    this.#questions.set(key, question);
    this.#tell();
  }

  /** It has its answer, or needs none any more. */
  settled(key: string): void {
    if (this.#questions.delete(key)) this.#tell();
  }

  end(): void {
    this.#over = true;
    this.#timer?.cancel();
  }

  #due(): void {
    this.#timer = undefined;
    if (!isDeepStrictEqual(this.#seen, this.#told)) this.#tell();
  }

  #tell(): void {
    if (this.#over) return;
    this.#told = this.#seen;
    try {
      this.#files.standing = {
        ...(this.#seen !== undefined && { seen: this.#seen }),
        questions: Object.fromEntries(this.#questions),
      };
    } catch (error) {
      // A full disk. What is asked has to be told all the same, once there is room.
      note(`how the job stands could not be written: ${String(error)}`);
      this.#timer ??= this.#clock.setTimer(1_000, () => {
        this.#timer = undefined;
        this.#tell();
      });
    }
  }
}
