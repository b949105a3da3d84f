/* start.c: what ESP-IDF does before a program's app_main. */
void app_main(void);

int main(void) {
    app_main();
    return 0;
}
