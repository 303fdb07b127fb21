/** EX_CONFIG of sysexits.h: the settings are at fault (contract §2). */
export const EXIT_CONFIGURATION = 78;
