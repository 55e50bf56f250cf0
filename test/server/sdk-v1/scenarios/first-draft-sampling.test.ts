import { onSdkV1 } from '../../binding.ts';

onSdkV1();
await import('../../first-draft-sampling.test.ts');
