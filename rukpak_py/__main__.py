from rukpak_py.operator.entry import main

main()
